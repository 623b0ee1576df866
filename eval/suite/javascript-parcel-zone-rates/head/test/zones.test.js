import assert from 'node:assert/strict';
import test from 'node:test';
import { zoneOf } from '../src/zones.js';
import { ZONES } from './fixtures/zones.js';

test('every sample postal code lies in its zone', () => {
  for (const [code, zone] of Object.entries(ZONES)) {
    assert.equal(zoneOf(code), zone, `zone of ${code}`);
  }
});

test('refuses what is not a postal code', () => {
  for (const bad of ['', '4103', '041030', '0410a', ' 04103']) {
    assert.throws(() => zoneOf(bad), RangeError);
  }
});
