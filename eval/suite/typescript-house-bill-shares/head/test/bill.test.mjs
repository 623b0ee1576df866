import assert from 'node:assert/strict';
import test from 'node:test';
import { sharesOf } from '../dist/bill.js';
import { splitByWeight } from '../dist/split.js';

const flats = [
  { name: 'ground', squareMetres: 80 },
  { name: 'first', squareMetres: 65 },
  { name: 'attic', squareMetres: 40 },
];

test('evenly, to the cent', () => {
  assert.deepEqual([...sharesOf({ title: 'bulbs', cents: 1000 }, flats).values()], [334, 333, 333]);
});

test('by area, to the cent', () => {
  // 432.43, 351.35 and 216.21 rounded down; the cent that is left goes to the attic (216.216…)
  assert.deepEqual(
    [...sharesOf({ title: 'heating', cents: 100_000, key: 'area' }, flats).values()],
    [43_243, 35_135, 21_622],
  );
});

test('a refund by area adds up too', () => {
  const shares = [...sharesOf({ title: 'refund', cents: -1001, key: 'area' }, flats).values()];
  assert.equal(shares.reduce((a, b) => a + b), -1001);
  assert.ok(shares.every((share) => share < 0));
});

test('always the whole amount, and never a cent off the exact share', () => {
  for (let cents = -60; cents <= 60; cents++) {
    for (const weights of [[1], [1, 1, 1], [7, 2], [13, 1, 5, 5, 4]]) {
      const sum = weights.reduce((a, b) => a + b);
      const parts = splitByWeight(cents, weights);
      assert.equal(parts.reduce((a, b) => a + b), cents);
      parts.forEach((part, i) => assert.ok(Math.abs(part - (cents * weights[i]) / sum) < 1));
    }
  }
});

test('refuses weights it cannot split by', () => {
  for (const weights of [[], [0, 1], [2, -1], [0.5, 0.5]]) {
    assert.throws(() => splitByWeight(100, weights), RangeError);
  }
});
