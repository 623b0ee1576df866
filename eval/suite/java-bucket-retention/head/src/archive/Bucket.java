package archive;

/** A named collection of recordings and how long to keep them. */
public record Bucket(String name, int retentionDays) {
    public static final int DEFAULT_RETENTION_DAYS = 14;
    public static final int MAX_RETENTION_DAYS = 3650;

    public Bucket {
        if (name == null || !name.matches("[A-Za-z0-9._-]+")) {
            throw new IllegalArgumentException("not a bucket name: " + name);
        }
        if (retentionDays < 1 || retentionDays > MAX_RETENTION_DAYS) {
            throw new IllegalArgumentException(
                    name + ": retention must be 1 to " + MAX_RETENTION_DAYS + " days, not " + retentionDays);
        }
    }
}
