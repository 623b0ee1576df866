package garden;

import java.time.DayOfWeek;
import java.time.LocalTime;
import java.util.Set;

/** One entry of the watering plan. */
public record Watering(int valve, LocalTime start, int minutes, Set<DayOfWeek> days) {
    public static final Set<DayOfWeek> EVERY_DAY = Set.of(DayOfWeek.values());

    public Watering {
        if (valve < 1 || valve > 32) {
            throw new IllegalArgumentException("valve " + valve);
        }
        if (minutes < 1 || minutes > 240) {
            throw new IllegalArgumentException("minutes " + minutes);
        }
        if (days.isEmpty()) {
            throw new IllegalArgumentException("no day");
        }
        days = Set.copyOf(days);
    }
}
