function line(board, player) {
  return `${String(board.rankOf(player.points)).padStart(3)}. ${player.name} (${player.points})`;
}

/** The text of the weekly bulletin. */
export function bulletin(board, { top = 10 } = {}) {
  const players = board.standings();
  const newcomers = players.filter((player) => player.games < 5);

  const parts = ['Ranking', ...players.slice(0, top).map((player) => line(board, player))];
  if (newcomers.length > 0) {
    parts.push('', 'New in the club', ...newcomers.map((player) => line(board, player)));
  }
  return parts.join('\n') + '\n';
}
