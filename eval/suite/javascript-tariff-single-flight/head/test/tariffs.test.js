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

test('callers at the same time share one request', async () => {
  const asked = [];
  const tariffs = new Tariffs(async (id) => {
    asked.push(id);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { startCents: 0, centsPerKwh: id === 'S1' ? 40 : 50 };
  });
  const [a, b, c] = await Promise.all([tariffs.get('S1'), tariffs.get('S2'), tariffs.get('S1')]);
  assert.deepEqual(asked, ['S1', 'S2']);
  assert.equal(a, c);
  assert.equal(b.centsPerKwh, 50);
});

test('a failed request fails all who wait for it and is tried again afterwards', async () => {
  let loads = 0;
  const tariffs = new Tariffs(async () => {
    loads += 1;
    if (loads === 1) throw new Error('service down');
    return { startCents: 0, centsPerKwh: 40 };
  });
  const results = await Promise.allSettled([tariffs.get('S1'), tariffs.get('S1')]);
  assert.deepEqual(results.map((result) => result.status), ['rejected', 'rejected']);
  assert.equal((await tariffs.get('S1')).centsPerKwh, 40);
  assert.equal(loads, 2);
});
