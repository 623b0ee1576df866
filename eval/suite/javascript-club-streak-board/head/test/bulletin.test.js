import assert from 'node:assert/strict';
import test from 'node:test';
import { Board } from '../src/board.js';
import { bulletin } from '../src/bulletin.js';

test('ranking and newcomers', () => {
  const board = new Board();
  board.put({ name: 'Ilse', points: 40, games: 12, streak: 0 });
  board.put({ name: 'Tomo', points: 55, games: 20, streak: 1 });
  board.put({ name: 'Wen', points: 8, games: 2, streak: 2 });

  assert.equal(
    bulletin(board, { top: 2 }),
    'Ranking\n  1. Tomo (55)\n  2. Ilse (40)\n\nNew in the club\n  3. Wen (8)\n',
  );
});

test('names the longest streaks of three wins or more', () => {
  const board = new Board();
  board.put({ name: 'Ilse', points: 40, games: 12, streak: 4 });
  board.put({ name: 'Tomo', points: 55, games: 20, streak: 2 });
  board.put({ name: 'Abeo', points: 31, games: 9, streak: 6 });

  const text = bulletin(board);
  assert.ok(text.endsWith('\n\nOn a streak\nAbeo: 6 wins\nIlse: 4 wins\n'), text);
});
