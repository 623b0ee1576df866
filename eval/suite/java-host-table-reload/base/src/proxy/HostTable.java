package proxy;

import java.util.HashMap;
import java.util.Map;

/** Which backend serves which host name. */
public final class HostTable {
    private final Map<String, Backend> backends = new HashMap<>();
    private long generation;

    /** The backend for the host, or null if none is configured. */
    public synchronized Backend find(String host) {
        Backend exact = backends.get(host);
        if (exact != null) {
            return exact;
        }
        int dot = host.indexOf('.');
        return dot < 0 ? null : backends.get("*" + host.substring(dot));
    }

    /** Adds or replaces one entry, from the admin port. */
    public synchronized void put(String host, Backend backend) {
        backends.put(host, backend);
        generation++;
    }

    /** Replaces the whole table, after the configuration file changed. */
    public synchronized void replaceAll(Map<String, Backend> fresh) {
        backends.clear();
        backends.putAll(fresh);
        generation++;
    }

    /** Grows by one with every change. */
    public synchronized long generation() {
        return generation;
    }
}
