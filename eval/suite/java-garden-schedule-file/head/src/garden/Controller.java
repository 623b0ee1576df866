package garden;

import java.io.IOException;
import java.time.LocalDateTime;
import java.util.List;
import java.util.stream.Collectors;

/** Tells which valves are to be opened. */
public final class Controller {
    private final PlanFile file;

    public Controller(PlanFile file) {
        this.file = file;
    }

    /** What starts within the minute of {@code now}. Called once per minute. */
    public List<Watering> due(LocalDateTime now) throws IOException {
        int minute = now.toLocalTime().toSecondOfDay() / 60;
        return file.load().stream()
                .filter(w -> w.days().contains(now.getDayOfWeek()))
                .filter(w -> w.start().toSecondOfDay() / 60 == minute)
                .collect(Collectors.toList());
    }
}
