/** @typedef {{ name: string, points: number, games: number, streak: number }} Player */

/**
 * The club's ranking. Players are kept in order of their points, most first,
 * so that ranks can be looked up without sorting.
 */
export class Board {
  /** @type {Player[]} */
  #players = [];

  /** Adds a player or replaces the one of that name. */
  put(player) {
    const old = this.#players.findIndex((p) => p.name === player.name);
    if (old !== -1) this.#players.splice(old, 1);
    this.#players.splice(this.#above(player.points), 0, player);
  }

  /** The rank that `points` gives: 1 + the number of players with more points. */
  rankOf(points) {
    return this.#above(points) + 1;
  }

  /** All players, best first. */
  standings() {
    return this.#players;
  }

  /** Number of players with more than `points`. */
  #above(points) {
    let low = 0;
    let high = this.#players.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#players[middle].points > points) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
