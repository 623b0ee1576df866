package shipping;

import java.util.Map;

/** The price list, as loaded from the contract files. */
public final class RateTable {
    private final Map<String, Long> baseCents;

    public RateTable(Map<String, Long> baseCents) {
        this.baseCents = Map.copyOf(baseCents);
    }

    /** Looks the rate up; the slow path behind {@link RateCache}. */
    public long centsFor(RateKey key) {
        Long base = baseCents.get(key.carrier());
        if (base == null) {
            throw new IllegalArgumentException("no contract with " + key.carrier());
        }
        long cents = base + 120L * key.weightClass();
        return key.express() ? cents * 2 : cents;
    }
}
