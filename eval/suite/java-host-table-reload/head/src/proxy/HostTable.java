package proxy;

import java.util.HashMap;
import java.util.Map;

/**
 * Which backend serves which host name.
 *
 * <p>Lookups are far more frequent than changes, so they take no lock: every change builds a new
 * map and publishes it together with its generation through {@link #current}.
 */
public final class HostTable {
    /** One state of the table. Never changes once it is published. */
    private record Snapshot(Map<String, Backend> backends, long generation) {
    }

    private volatile Snapshot current = new Snapshot(Map.of(), 0);

    /** The backend for the host, or null if none is configured. */
    public Backend find(String host) {
        // Read the field once, so that both lookups see the same table.
        Map<String, Backend> backends = current.backends();
        Backend exact = backends.get(host);
        if (exact != null) {
            return exact;
        }
        int dot = host.indexOf('.');
        return dot < 0 ? null : backends.get("*" + host.substring(dot));
    }

    /** Adds or replaces one entry, from the admin port. */
    public synchronized void put(String host, Backend backend) {
        Map<String, Backend> copy = new HashMap<>(current.backends());
        copy.put(host, backend);
        current = new Snapshot(copy, current.generation() + 1);
    }

    /** Replaces the whole table, after the configuration file changed. */
    public synchronized void replaceAll(Map<String, Backend> fresh) {
        current = new Snapshot(new HashMap<>(fresh), current.generation() + 1);
    }

    /** Grows by one with every change. */
    public long generation() {
        return current.generation();
    }
}
