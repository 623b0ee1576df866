package wire;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.function.Consumer;

/** Reads from one device until it hangs up. */
public final class Link {
    private final InputStream in;
    private final Consumer<byte[]> sink;

    public Link(InputStream in, Consumer<byte[]> sink) {
        this.in = in;
        this.sink = sink;
    }

    public void run() throws IOException {
        FrameDecoder decoder = new FrameDecoder();
        byte[] chunk = new byte[512];
        int n;
        while ((n = in.read(chunk)) != -1) {
            decoder.decode(Arrays.copyOf(chunk, n)).forEach(sink);
        }
    }
}
