#include "state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int write_gauges(FILE *out, const struct gauge *gauges, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (fprintf(out, "%" PRIu32 " %" PRIu32 " %" PRId64 "\n", gauges[i].id,
			    gauges[i].tips, gauges[i].last_tip) < 0)
			return -1;
	}
	return 0;
}

int state_save(const char *path, const struct gauge *gauges, size_t count)
{
	char fresh[512];
	FILE *out;
	int failed;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	out = fopen(fresh, "w");
	if (!out)
		return -1;
	failed = write_gauges(out, gauges, count) != 0;
	if (fclose(out) != 0)
		failed = 1;
	if (failed || rename(fresh, path) != 0) {
		int saved = errno;

		remove(fresh);
		errno = saved;
		return -1;
	}
	return 0;
}

long state_load(const char *path, struct gauge *gauges, size_t max)
{
	FILE *in = fopen(path, "r");
	size_t n = 0;

	if (!in)
		return -1;
	while (n < max && fscanf(in, "%" SCNu32 " %" SCNu32 " %" SCNd64, &gauges[n].id,
				 &gauges[n].tips, &gauges[n].last_tip) == 3)
		n++;
	fclose(in);
	return (long)n;
}
