package wire;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Run with {@code java wire.LinkTest}. */
public final class LinkTest {
    public static void main(String[] args) throws IOException {
        byte[] sent = {0, 2, 'o', 'k', 0, 0, 0, 1, '!'};
        List<String> seen = new ArrayList<>();
        new Link(new ByteArrayInputStream(sent), p -> seen.add(new String(p, StandardCharsets.US_ASCII))).run();
        check(seen.equals(List.of("ok", "", "!")), "three frames, got " + seen);
        System.out.println("ok");
    }

    private static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }
}
