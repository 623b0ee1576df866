package shipping;

/** Where a parcel goes. The surcharge is part of the rate and doubles with express. */
public enum Region {
    DOMESTIC(0),
    NEIGHBOUR(450),
    OVERSEAS(1_900);

    private final long surchargeCents;

    Region(long surchargeCents) {
        this.surchargeCents = surchargeCents;
    }

    public long surchargeCents() {
        return surchargeCents;
    }
}
