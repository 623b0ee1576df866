package desk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The files that a tenant's users attached to their tickets, one directory per tenant. */
public final class AttachmentStore {
    private final String directory;

    /** @param directory the tenant's directory */
    public AttachmentStore(Path directory) {
        this.directory = directory.toAbsolutePath().normalize().toString();
    }

    /**
     * Reads an attachment.
     *
     * @param name its path below the tenant's directory, as sent by the browser
     */
    public byte[] read(String name) throws IOException {
        return Files.readAllBytes(locate(name));
    }

    /**
     * Lists the names of the attachments of one ticket, sorted.
     *
     * @param ticket the ticket's folder below the tenant's directory
     */
    public List<String> list(String ticket) throws IOException {
        Path folder = locate(ticket);
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    /** The file or folder of that name; refuses names that lead out of the directory. */
    private Path locate(String name) throws IOException {
        Path file = Path.of(directory, name).normalize();
        if (!file.toString().startsWith(directory)) {
            throw new IOException("outside of the attachments: " + name);
        }
        return file;
    }
}
