package proxy;

import java.util.Locale;

/** Chooses the backend of a request. Called by all worker threads. */
public final class Router {
    private final HostTable hosts;
    private final Backend fallback;

    public Router(HostTable hosts, Backend fallback) {
        this.hosts = hosts;
        this.fallback = fallback;
    }

    public Backend route(String hostHeader) {
        int colon = hostHeader.indexOf(':');
        String host = colon < 0 ? hostHeader : hostHeader.substring(0, colon);
        Backend found = hosts.find(host.toLowerCase(Locale.ROOT));
        return found != null ? found : fallback;
    }
}
