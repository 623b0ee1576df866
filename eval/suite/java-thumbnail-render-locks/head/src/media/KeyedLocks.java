package media;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Runs at most one action per key at a time. Actions for different keys run in parallel.
 * Keys that nobody uses take no memory.
 */
public final class KeyedLocks {
    private final ConcurrentHashMap<String, ReentrantLock> locks = new ConcurrentHashMap<>();

    /** Runs {@code action} while no other action for {@code key} is running. */
    public <T> T withLock(String key, Supplier<T> action) {
        ReentrantLock lock = locks.computeIfAbsent(key, k -> new ReentrantLock());
        lock.lock();
        try {
            return action.get();
        } finally {
            locks.remove(key, lock);
            lock.unlock();
        }
    }

    /** Number of keys that are in use right now, for the metrics page. */
    public int size() {
        return locks.size();
    }
}
