package archive;

import java.util.List;

/** Where the recordings are kept. */
public interface Store {
    List<Recording> list(Bucket bucket);

    void delete(Bucket bucket, Recording recording);

    /** A stored recording; {@code createdAt} is in milliseconds since the epoch. */
    record Recording(String id, long createdAt) {
    }
}
