package garden;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;

/**
 * The plan on the controller's flash: a version byte, the number of entries (2 bytes) and per
 * entry the valve (1 byte), the start as minute of the day (2 bytes) and the minutes (1 byte).
 */
public final class PlanFile {
    private static final int VERSION = 1;

    private final Path path;

    public PlanFile(Path path) {
        this.path = path;
    }

    public List<Watering> load() throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path)))) {
            int version = in.readUnsignedByte();
            if (version != VERSION) {
                throw new IOException(path + ": unknown version " + version);
            }
            int count = in.readUnsignedShort();
            List<Watering> plan = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                int valve = in.readUnsignedByte();
                LocalTime start = LocalTime.ofSecondOfDay(in.readUnsignedShort() * 60L);
                plan.add(new Watering(valve, start, in.readUnsignedByte()));
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
            }
        }
        Files.move(fresh, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
}
