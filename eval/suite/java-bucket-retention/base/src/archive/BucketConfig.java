package archive;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Reads the list of buckets: one name per line, {@code #} starts a comment line. */
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
            Bucket bucket = new Bucket(text);
            if (!names.add(bucket.name())) {
                throw new IllegalArgumentException("listed twice: " + bucket.name());
            }
            buckets.add(bucket);
        }
        return buckets;
    }
}
