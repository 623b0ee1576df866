package garden;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.LocalTime;
import java.util.List;
import java.util.Set;

/** Run with {@code java garden.PlanFileTest}. */
public final class PlanFileTest {
    public static void main(String[] args) throws IOException {
        Path directory = Files.createTempDirectory("plan");
        PlanFile file = new PlanFile(directory.resolve("plan.bin"));

        List<Watering> plan = List.of(
                new Watering(3, LocalTime.of(6, 30), 20, Set.of(DayOfWeek.MONDAY, DayOfWeek.SUNDAY)),
                new Watering(32, LocalTime.of(23, 59), 240, Watering.EVERY_DAY));
        file.save(plan);
        check(file.load().equals(plan), "saved and loaded");

        // Written by the release before: valve 3 at 06:30 for 20 minutes.
        Files.write(directory.resolve("plan.bin"), new byte[] {1, 0, 1, 3, 1, (byte) 0x86, 20});
        check(file.load().equals(List.of(new Watering(3, LocalTime.of(6, 30), 20, Watering.EVERY_DAY))), "version 1");
        System.out.println("ok");
    }

    private static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }
}
