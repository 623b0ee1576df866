package media;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** Serves thumbnails from a directory and renders the missing ones. */
public final class ThumbnailService {
    private final Path directory;
    private final Renderer renderer;
    private final KeyedLocks locks = new KeyedLocks();

    public ThumbnailService(Path directory, Renderer renderer) {
        this.directory = directory;
        this.renderer = renderer;
    }

    /**
     * The file with the thumbnail of {@code imageId}. Image ids are the hex digests
     * that the upload handler assigns.
     */
    public Path thumbnail(String imageId) {
        return locks.withLock(imageId, () -> {
            Path done = directory.resolve(imageId + ".png");
            if (Files.exists(done)) {
                return done;
            }
            // One fixed name per image is enough: we are the only ones working on this id.
            Path partial = directory.resolve(imageId + ".part");
            try {
                renderer.render(imageId, partial);
                Files.move(partial, done, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw new UncheckedIOException("thumbnail of " + imageId, e);
            }
            return done;
        });
    }

    /** Forgets the thumbnail, e.g. after the image was cropped. */
    public void invalidate(String imageId) {
        locks.withLock(imageId, () -> {
            try {
                return Files.deleteIfExists(directory.resolve(imageId + ".png"));
            } catch (IOException e) {
                throw new UncheckedIOException("thumbnail of " + imageId, e);
            }
        });
    }
}
