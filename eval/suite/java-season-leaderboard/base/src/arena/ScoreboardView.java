package arena;

import java.util.List;

/** Draws the panel beside the arena, once per second. */
public final class ScoreboardView {
    private static final int ROWS = 10;

    private final Leaderboard leaderboard;

    public ScoreboardView(Leaderboard leaderboard) {
        this.leaderboard = leaderboard;
    }

    public String draw() {
        List<Standing> rows = leaderboard.top(ROWS);
        StringBuilder text = new StringBuilder();
        int rank = 0;
        for (int i = 0; i < rows.size(); i++) {
            // Players with equal points share the rank.
            if (i == 0 || rows.get(i).points() != rows.get(i - 1).points()) {
                rank = i + 1;
            }
            text.append(String.format("%2d  %-16s %6d%n", rank, rows.get(i).player(), rows.get(i).points()));
        }
        return text.append(leaderboard.size()).append(" players").toString();
    }
}
