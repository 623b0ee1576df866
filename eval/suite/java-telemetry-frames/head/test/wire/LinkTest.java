package wire;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Run with {@code java wire.LinkTest}. */
public final class LinkTest {
    public static void main(String[] args) throws IOException {
        byte[] sent = {0, 2, 'o', 'k', 0, 0, 0, 1, '!'};
        for (int piece = 1; piece <= sent.length; piece++) {
            List<String> seen = new ArrayList<>();
            new Link(inPieces(sent, piece), p -> seen.add(new String(p, StandardCharsets.US_ASCII))).run();
            check(seen.equals(List.of("ok", "", "!")), "pieces of " + piece + ", got " + seen);
        }
        longestFrames();
        refuses(new byte[] {0, 3, 'x'}, "ends within a frame");
        refuses(new byte[] {4, 1}, "one byte too long");
        System.out.println("ok");
    }

    private static void longestFrames() throws IOException {
        ByteBuffer sent = ByteBuffer.allocate(3 * (2 + FrameDecoder.MAX_PAYLOAD));
        while (sent.hasRemaining()) {
            sent.putShort((short) FrameDecoder.MAX_PAYLOAD).put(new byte[FrameDecoder.MAX_PAYLOAD]);
        }
        List<Integer> sizes = new ArrayList<>();
        new Link(new ByteArrayInputStream(sent.array()), p -> sizes.add(p.length)).run();
        check(sizes.equals(List.of(1024, 1024, 1024)), "longest frames, got " + sizes);
    }

    private static void refuses(byte[] sent, String what) throws IOException {
        try {
            new Link(new ByteArrayInputStream(sent), p -> { }).run();
        } catch (BadFrameException expected) {
            return;
        }
        throw new AssertionError("not refused: " + what);
    }

    /** A stream that hands out at most {@code piece} bytes per call, as a socket may do. */
    private static InputStream inPieces(byte[] bytes, int piece) {
        return new ByteArrayInputStream(bytes) {
            @Override
            public int read(byte[] b) {
                return read(b, 0, Math.min(b.length, piece));
            }
        };
    }

    private static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }
}
