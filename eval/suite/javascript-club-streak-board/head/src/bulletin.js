function line(board, player) {
  return `${String(board.rankOf(player.points)).padStart(3)}. ${player.name} (${player.points})`;
}

/** The `count` players with the longest current winning streaks, longest first. */
function onStreak(board, count) {
  return board
    .standings()
    .sort((a, b) => b.streak - a.streak)
    .slice(0, count)
    .filter((player) => player.streak >= 3);
}

/** The text of the weekly bulletin. */
export function bulletin(board, { top = 10, streaks = 3 } = {}) {
  const players = board.standings();
  const newcomers = players.filter((player) => player.games < 5);

  const parts = ['Ranking', ...players.slice(0, top).map((player) => line(board, player))];
  if (newcomers.length > 0) {
    parts.push('', 'New in the club', ...newcomers.map((player) => line(board, player)));
  }

  const streaking = onStreak(board, streaks);
  if (streaking.length > 0) {
    parts.push('', 'On a streak', ...streaking.map((player) => `${player.name}: ${player.streak} wins`));
  }
  return parts.join('\n') + '\n';
}
