package archive;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Reads the list of buckets: one per line, {@code #} starts a comment line. A name may be
 * followed by {@code =} and the number of days to keep its recordings.
 */
public final class BucketConfig {
    private BucketConfig() {
    }

    public static List<Bucket> parse(List<String> lines) {
        List<Bucket> buckets = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (String line : lines) {
            String text = line.strip();
            if (text.isEmpty() || text.startsWith("#")) {
                continue;
            }
            Bucket bucket = parseLine(text);
            if (!names.add(bucket.name())) {
                throw new IllegalArgumentException("listed twice: " + bucket.name());
            }
            buckets.add(bucket);
        }
        return buckets;
    }

    private static Bucket parseLine(String text) {
        int equals = text.lastIndexOf('=');
        if (equals < 0) {
            return new Bucket(text, Bucket.DEFAULT_RETENTION_DAYS);
        }
        String name = text.substring(0, equals).strip();
        String days = text.substring(equals + 1).strip();
        try {
            return new Bucket(name, Integer.parseInt(days));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("not a number of days in \"" + text + "\"", e);
        }
    }
}
