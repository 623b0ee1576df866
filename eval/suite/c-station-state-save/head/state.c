#include "state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define PATH_LENGTH 512

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

/* Makes path + suffix; fails with ENAMETOOLONG. */
static int sibling(char *buffer, size_t size, const char *path, const char *suffix)
{
	int n = snprintf(buffer, size, "%s%s", path, suffix);

	if (n < 0 || (size_t)n >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

/* Moves path to backup, if there is one, and fresh to path. */
static int put_in_place(const char *fresh, const char *path, const char *backup)
{
	int had_old = 1;

	if (rename(path, backup) != 0) {
		if (errno != ENOENT)
			return -1;
		had_old = 0;
	}
	if (rename(fresh, path) != 0) {
		int saved = errno;

		if (had_old)
			rename(backup, path);
		errno = saved;
		return -1;
	}
	return 0;
}

int state_save(const char *path, const struct gauge *gauges, size_t count)
{
	char fresh[PATH_LENGTH];
	char backup[PATH_LENGTH];
	FILE *out;
	int rc;

	if (sibling(fresh, sizeof(fresh), path, ".new") != 0 ||
	    sibling(backup, sizeof(backup), path, ".bak") != 0)
		return -1;
	out = fopen(fresh, "w");
	if (!out)
		return -1;
	rc = write_gauges(out, gauges, count);
	fclose(out);
	if (rc == 0)
		rc = put_in_place(fresh, path, backup);
	if (rc != 0) {
		int saved = errno;

		remove(fresh);
		errno = saved;
	}
	return rc;
}

long state_load(const char *path, struct gauge *gauges, size_t max)
{
	char backup[PATH_LENGTH];
	FILE *in = fopen(path, "r");
	size_t n = 0;

	/* We may have been stopped between the two renames. */
	if (!in && errno == ENOENT && sibling(backup, sizeof(backup), path, ".bak") == 0)
		in = fopen(backup, "r");
	if (!in)
		return -1;
	while (n < max && fscanf(in, "%" SCNu32 " %" SCNu32 " %" SCNd64, &gauges[n].id,
				 &gauges[n].tips, &gauges[n].last_tip) == 3)
		n++;
	fclose(in);
	return (long)n;
}
