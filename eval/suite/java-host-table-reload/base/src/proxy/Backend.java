package proxy;

/** An address that requests are forwarded to. */
public record Backend(String address, int port) {
    public Backend {
        if (port < 1 || port > 65535) {
            throw new IllegalArgumentException("port " + port);
        }
    }
}
