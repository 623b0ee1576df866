import assert from 'node:assert/strict';
import test from 'node:test';
import { takeIn } from '../src/intake.js';
import { ReadingStore } from '../src/store.js';

async function* body(...parts) {
  for (const part of parts) yield Buffer.from(part);
}

test('a line may be spread over several chunks', async () => {
  const store = new ReadingStore();
  const result = await takeIn(
    body('{"station":"Nord","at":1', '0,"c":1.5}\n{"station":"Nord",', '"at":20,"c":2}\n'),
    store,
  );
  assert.deepEqual(result, { accepted: 2, rejected: 0 });
  assert.equal(store.count('Nord'), 2);
});

test('the last line needs no line break', async () => {
  const store = new ReadingStore();
  const result = await takeIn(body('nonsense\n\n{"station":"Süd","at":10,"c":-3}'), store);
  assert.deepEqual(result, { accepted: 1, rejected: 1 });
  assert.deepEqual(store.stations(), ['Süd']);
});

test('refuses a line without end', async () => {
  await assert.rejects(takeIn(body('x'.repeat(70_000)), new ReadingStore()), RangeError);
});
