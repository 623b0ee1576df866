package wire;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Splits what the device sends into frames. A frame is a 2-byte length (big endian, 0 to
 * {@value #MAX_PAYLOAD}) and that many bytes of payload.
 */
public final class FrameDecoder {
    public static final int MAX_PAYLOAD = 1024;
    private static final int HEADER = 2;

    /** The payloads in {@code packet}, which must hold whole frames only. */
    public List<byte[]> decode(byte[] packet) throws BadFrameException {
        List<byte[]> payloads = new ArrayList<>();
        ByteBuffer in = ByteBuffer.wrap(packet);
        while (in.hasRemaining()) {
            if (in.remaining() < HEADER) {
                throw new BadFrameException("incomplete header");
            }
            int length = Short.toUnsignedInt(in.getShort());
            if (length > MAX_PAYLOAD || length > in.remaining()) {
                throw new BadFrameException("bad length " + length);
            }
            byte[] payload = new byte[length];
            in.get(payload);
            payloads.add(payload);
        }
        return payloads;
    }
}
