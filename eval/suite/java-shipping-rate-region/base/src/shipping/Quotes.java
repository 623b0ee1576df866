package shipping;

import java.util.Collection;

/** Shipping quotes for a basket. */
public final class Quotes {
    private static final int GRAMS_PER_CLASS = 500;

    private final RateCache rates;

    public Quotes(RateCache rates) {
        this.rates = rates;
    }

    /** The cost in cents of sending one parcel. */
    public long parcelCents(String carrier, int grams, boolean express) {
        return rates.centsFor(new RateKey(carrier, weightClass(grams), express));
    }

    /** The cost in cents of sending all parcels with one carrier. */
    public long totalCents(String carrier, Collection<Integer> parcelGrams, boolean express) {
        long total = 0;
        for (int grams : parcelGrams) {
            total += parcelCents(carrier, grams, express);
        }
        return total;
    }

    static int weightClass(int grams) {
        if (grams <= 0) {
            throw new IllegalArgumentException("weight must be positive: " + grams);
        }
        return (grams - 1) / GRAMS_PER_CLASS;
    }
}
