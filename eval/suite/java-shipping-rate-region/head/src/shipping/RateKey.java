package shipping;

import java.util.Objects;

/** What a shipping rate depends on. Used as the key of {@link RateCache}. */
public final class RateKey {
    private final String carrier;
    private final int weightClass;
    private final boolean express;
    private final Region region;

    public RateKey(String carrier, int weightClass, boolean express, Region region) {
        this.carrier = Objects.requireNonNull(carrier);
        this.weightClass = weightClass;
        this.express = express;
        this.region = Objects.requireNonNull(region);
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

    public Region region() {
        return region;
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
