package shipping;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

/** Keeps the most recently used rates, in cents. Not thread-safe; one per request worker. */
public final class RateCache {
    private final ToLongFunction<RateKey> source;
    private final Map<RateKey, Long> rates;

    public RateCache(int capacity, ToLongFunction<RateKey> source) {
        this.source = source;
        this.rates = new LinkedHashMap<>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<RateKey, Long> eldest) {
                return size() > capacity;
            }
        };
    }

    public long centsFor(RateKey key) {
        Long known = rates.get(key);
        if (known != null) {
            return known;
        }
        long cents = source.applyAsLong(key);
        rates.put(key, cents);
        return cents;
    }
}
