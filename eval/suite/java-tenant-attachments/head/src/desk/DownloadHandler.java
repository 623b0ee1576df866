package desk;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Answers {@code GET /attachments/<name>} and {@code GET /tickets/<id>/attachments} for the tenant
 * that the session belongs to.
 */
public final class DownloadHandler {
    private final Path root;

    public DownloadHandler(Path root) {
        this.root = root;
    }

    /**
     * @param tenant from the session; lower-case letters, digits and dashes
     * @param name the decoded rest of the request path
     */
    public byte[] download(String tenant, String name) throws IOException {
        return new AttachmentStore(root.resolve(tenant)).read(name);
    }

    /**
     * @param tenant from the session; lower-case letters, digits and dashes
     * @param ticket the decoded id from the request path
     */
    public List<String> attachments(String tenant, String ticket) throws IOException {
        return new AttachmentStore(root.resolve(tenant)).list(ticket);
    }
}
