import assert from 'node:assert/strict';
import test from 'node:test';
import { zoneOf } from '../src/zones.js';

const ZONES = {
  '04103': 'local',
  '04999': 'local',
  '05000': 'national',
  '10115': 'national',
  '18564': 'national',
  '18565': 'remote',
  '25845': 'remote',
  '25849': 'remote',
  '25850': 'national',
};

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
