package wire;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Splits what the device sends into frames. A frame is a 2-byte length (big endian, 0 to
 * {@value #MAX_PAYLOAD}) and that many bytes of payload. Frames may arrive in pieces; what is
 * incomplete is kept for the next call. One decoder per connection, not thread-safe.
 */
public final class FrameDecoder {
    public static final int MAX_PAYLOAD = 1024;
    private static final int HEADER = 2;

    /** Holds the beginning of a frame between calls, ready for writing; always less than a whole one. */
    private final ByteBuffer pending = ByteBuffer.allocate(HEADER + MAX_PAYLOAD);

    /** Takes {@code length} bytes of {@code chunk} and returns the payloads that are now complete. */
    public List<byte[]> decode(byte[] chunk, int length) throws BadFrameException {
        List<byte[]> payloads = new ArrayList<>();
        int offset = 0;
        while (offset < length) {
            int n = Math.min(pending.remaining(), length - offset);
            pending.put(chunk, offset, n);
            offset += n;

            pending.flip();
            byte[] payload;
            while ((payload = next()) != null) {
                payloads.add(payload);
            }
            pending.compact();
        }
        return payloads;
    }

    /** Whether the connection ended in the middle of a frame. */
    public boolean isIncomplete() {
        return pending.position() > 0;
    }

    /** Takes one payload from the buffer, or leaves the buffer as it is and returns null. */
    private byte[] next() throws BadFrameException {
        if (pending.remaining() < HEADER) {
            return null;
        }
        int length = Short.toUnsignedInt(pending.getShort(pending.position()));
        if (length > MAX_PAYLOAD) {
            throw new BadFrameException("bad length " + length);
        }
        if (pending.remaining() < HEADER + length) {
            return null;
        }
        byte[] payload = new byte[length];
        pending.position(pending.position() + HEADER);
        pending.get(payload);
        return payload;
    }
}
