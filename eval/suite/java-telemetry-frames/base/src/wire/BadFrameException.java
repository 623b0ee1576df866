package wire;

import java.io.IOException;

/** The device does not keep to the protocol; the connection has to be closed. */
public final class BadFrameException extends IOException {
    private static final long serialVersionUID = 1L;

    public BadFrameException(String message) {
        super(message);
    }
}
