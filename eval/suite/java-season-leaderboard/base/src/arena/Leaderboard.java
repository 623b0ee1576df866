package arena;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The season's ranking. All calls come from the game loop's thread. */
public final class Leaderboard {
    private final Map<String, Integer> points = new HashMap<>();

    /** Adds the points of one match (possibly negative) to the player's total. */
    public void record(String player, int matchPoints) {
        points.merge(player, matchPoints, Integer::sum);
    }

    /** The best {@code count} players, best first. */
    public List<Standing> top(int count) {
        List<Standing> all = new ArrayList<>(points.size());
        points.forEach((player, total) -> all.add(new Standing(player, total)));
        all.sort(Standing.BEST_FIRST);
        return List.copyOf(all.subList(0, Math.min(count, all.size())));
    }

    /** Number of players that took part in at least one match. */
    public int size() {
        return points.size();
    }
}
