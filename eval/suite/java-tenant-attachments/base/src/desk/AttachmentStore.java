package desk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The files that a tenant's users attached to their tickets, one directory per tenant. */
public final class AttachmentStore {
    private final Path directory;

    /** @param directory the tenant's directory */
    public AttachmentStore(Path directory) {
        this.directory = directory.toAbsolutePath().normalize();
    }

    /**
     * Reads an attachment.
     *
     * @param name its path below the tenant's directory, as sent by the browser
     */
    public byte[] read(String name) throws IOException {
        Path file = directory.resolve(name).normalize();
        if (!file.startsWith(directory)) {
            throw new IOException("outside of the attachments: " + name);
        }
        return Files.readAllBytes(file);
    }
}
