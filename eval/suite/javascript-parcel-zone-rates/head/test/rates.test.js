import assert from 'node:assert/strict';
import test from 'node:test';
import { rateFor } from '../src/rates.js';
import { ZONES } from './fixtures/zones.js';

test('the weight limits belong to the lower step', () => {
  assert.equal(rateFor('local', 2000), 390);
  assert.equal(rateFor('local', 2001), 690);
  assert.equal(rateFor('remote', 31500), 2890);
  assert.equal(rateFor('remote', 31501), null);
});

test('every zone of the handbook has rates', () => {
  assert.ok(ZONES.size > 0);
  for (const zone of new Set(ZONES.values())) {
    assert.equal(typeof rateFor(zone, 500), 'number');
  }
});

test('refuses a zone that does not exist', () => {
  assert.throws(() => rateFor('overseas', 500), RangeError);
});

test('refuses what is not a weight', () => {
  for (const bad of [0, -1, Number.NaN, undefined]) {
    assert.throws(() => rateFor('local', bad), RangeError);
  }
});
