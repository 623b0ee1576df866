package media;

import java.io.IOException;
import java.nio.file.Path;

/** Draws the thumbnail of one image into a file, replacing what is there. */
public interface Renderer {
    void render(String imageId, Path target) throws IOException;
}
