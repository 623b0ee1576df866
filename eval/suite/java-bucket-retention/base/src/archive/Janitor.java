package archive;

import java.time.Clock;
import java.util.List;

/** Deletes what is older than the retention period. Runs once per night. */
public final class Janitor {
    private static final long RETENTION_MILLIS = 14L * 24 * 60 * 60 * 1000;

    private final Store store;
    private final Clock clock;

    public Janitor(Store store, Clock clock) {
        this.store = store;
        this.clock = clock;
    }

    /** Cleans the buckets and returns how many recordings were deleted. */
    public int run(List<Bucket> buckets) {
        int deleted = 0;
        for (Bucket bucket : buckets) {
            deleted += clean(bucket);
        }
        return deleted;
    }

    private int clean(Bucket bucket) {
        long cutoff = clock.millis() - RETENTION_MILLIS;
        int deleted = 0;
        for (Store.Recording recording : store.list(bucket)) {
            if (recording.createdAt() < cutoff) {
                store.delete(bucket, recording);
                deleted++;
            }
        }
        return deleted;
    }
}
