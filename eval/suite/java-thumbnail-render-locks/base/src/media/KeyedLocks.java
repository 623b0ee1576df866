package media;

import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Runs at most one action per key at a time. Keys are spread over a fixed number of locks, so
 * actions for different keys run in parallel unless their keys share a lock.
 */
public final class KeyedLocks {
    private static final int LOCKS = 64;

    private final ReentrantLock[] locks = new ReentrantLock[LOCKS];

    public KeyedLocks() {
        Arrays.setAll(locks, i -> new ReentrantLock());
    }

    /** Runs {@code action} while no other action for {@code key} is running. */
    public <T> T withLock(String key, Supplier<T> action) {
        ReentrantLock lock = locks[Math.floorMod(key.hashCode(), LOCKS)];
        lock.lock();
        try {
            return action.get();
        } finally {
            lock.unlock();
        }
    }
}
