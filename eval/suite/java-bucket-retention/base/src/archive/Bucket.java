package archive;

/** A named collection of recordings. */
public record Bucket(String name) {
    public Bucket {
        if (name == null || !name.matches("[A-Za-z0-9._-]+")) {
            throw new IllegalArgumentException("not a bucket name: " + name);
        }
    }
}
