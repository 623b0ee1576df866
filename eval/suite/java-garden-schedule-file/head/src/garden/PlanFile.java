package garden;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.DayOfWeek;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The plan on the controller's flash: a version byte, the number of entries (2 bytes) and per
 * entry the valve (1 byte), the start as minute of the day (2 bytes), the minutes (1 byte) and, since
 * version 2, the days of the week (1 byte, Monday is bit 0). Version 1 waters every day.
 */
public final class PlanFile {
    private static final int VERSION = 2;

    private final Path path;

    public PlanFile(Path path) {
        this.path = path;
    }

    public List<Watering> load() throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path)))) {
            int version = in.readUnsignedByte();
            if (version < 1 || version > VERSION) {
                throw new IOException(path + ": unknown version " + version);
            }
            int count = in.readUnsignedShort();
            List<Watering> plan = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                int valve = in.readUnsignedByte();
                LocalTime start = LocalTime.ofSecondOfDay(in.readUnsignedShort() * 60L);
                int minutes = in.readUnsignedByte();
                Set<DayOfWeek> days = version >= 2 ? daysOf(in.readUnsignedByte()) : Watering.EVERY_DAY;
                plan.add(new Watering(valve, start, minutes, days));
            }
            return plan;
        }
    }

    public void save(List<Watering> plan) throws IOException {
        if (plan.size() > 0xFFFF) {
            throw new IOException("too many entries: " + plan.size());
        }
        Path fresh = path.resolveSibling(path.getFileName() + ".new");
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(fresh)))) {
            out.writeByte(VERSION);
            out.writeShort(plan.size());
            for (Watering watering : plan) {
                out.writeByte(watering.valve());
                out.writeShort(watering.start().toSecondOfDay() / 60);
                out.writeByte(watering.minutes());
                out.writeByte(bitsOf(watering.days()));
            }
        }
        Files.move(fresh, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    private static int bitsOf(Set<DayOfWeek> days) {
        int bits = 0;
        for (DayOfWeek day : days) {
            bits |= 1 << day.ordinal();
        }
        return bits;
    }

    private static Set<DayOfWeek> daysOf(int bits) {
        Set<DayOfWeek> days = EnumSet.noneOf(DayOfWeek.class);
        for (DayOfWeek day : DayOfWeek.values()) {
            if ((bits & 1 << day.ordinal()) != 0) {
                days.add(day);
            }
        }
        return days;
    }
}
