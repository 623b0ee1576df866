package arena;

import java.util.Comparator;

/** A player's points in the running season. */
public record Standing(String player, int points) {
    /** Best first. */
    public static final Comparator<Standing> BEST_FIRST =
            Comparator.comparingInt(Standing::points).reversed();
}
