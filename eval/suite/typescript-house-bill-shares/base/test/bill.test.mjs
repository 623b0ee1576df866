import assert from 'node:assert/strict';
import test from 'node:test';
import { sharesOf } from '../dist/bill.js';

const flats = [
  { name: 'ground', squareMetres: 80 },
  { name: 'first', squareMetres: 65 },
  { name: 'attic', squareMetres: 40 },
];

test('evenly, to the cent', () => {
  assert.deepEqual([...sharesOf({ title: 'bulbs', cents: 1000 }, flats).values()], [334, 333, 333]);
});
