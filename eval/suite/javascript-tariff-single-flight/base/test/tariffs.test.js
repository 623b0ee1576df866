import assert from 'node:assert/strict';
import test from 'node:test';
import { Tariffs } from '../src/tariffs.js';

test('loads again only when the tariff is too old', async () => {
  let time = 0;
  let loads = 0;
  const tariffs = new Tariffs(async () => ({ startCents: 50, centsPerKwh: 40 + loads++ }), {
    maxAgeMs: 100,
    now: () => time,
  });
  assert.equal((await tariffs.get('S1')).centsPerKwh, 40);
  time = 99;
  assert.equal((await tariffs.get('S1')).centsPerKwh, 40);
  time = 100;
  assert.equal((await tariffs.get('S1')).centsPerKwh, 41);
});
