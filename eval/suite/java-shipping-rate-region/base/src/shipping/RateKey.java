package shipping;

import java.util.Objects;

/** What a shipping rate depends on. Used as the key of {@link RateCache}. */
public final class RateKey {
    private final String carrier;
    private final int weightClass;
    private final boolean express;

    public RateKey(String carrier, int weightClass, boolean express) {
        this.carrier = Objects.requireNonNull(carrier);
        this.weightClass = weightClass;
        this.express = express;
    }

    public String carrier() {
        return carrier;
    }

    public int weightClass() {
        return weightClass;
    }

    public boolean express() {
        return express;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof RateKey)) {
            return false;
        }
        RateKey that = (RateKey) other;
        return weightClass == that.weightClass
                && express == that.express
                && carrier.equals(that.carrier);
    }

    @Override
    public int hashCode() {
        return Objects.hash(carrier, weightClass, express);
    }
}
