package arena;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** The season's ranking. All calls come from the game loop's thread. */
public final class Leaderboard {
    private final Map<String, Standing> byPlayer = new HashMap<>();
    private final TreeSet<Standing> ranking = new TreeSet<>(Standing.BEST_FIRST);

    /** Adds the points of one match (possibly negative) to the player's total. */
    public void record(String player, int matchPoints) {
        Standing before = byPlayer.get(player);
        int total = matchPoints;
        if (before != null) {
            // The position depends on the points, so take it out before they change.
            ranking.remove(before);
            total += before.points();
        }
        Standing now = new Standing(player, total);
        byPlayer.put(player, now);
        ranking.add(now);
    }

    /** The best {@code count} players, best first. */
    public List<Standing> top(int count) {
        return ranking.stream().limit(count).toList();
    }

    /** Number of players that took part in at least one match. */
    public int size() {
        return byPlayer.size();
    }
}
