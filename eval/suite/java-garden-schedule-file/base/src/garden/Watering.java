package garden;

import java.time.LocalTime;

/** One entry of the watering plan. */
public record Watering(int valve, LocalTime start, int minutes) {
    public Watering {
        if (valve < 1 || valve > 32) {
            throw new IllegalArgumentException("valve " + valve);
        }
        if (minutes < 1 || minutes > 240) {
            throw new IllegalArgumentException("minutes " + minutes);
        }
    }
}
