import assert from 'node:assert/strict';
import test from 'node:test';
import { PlanFormatError, loadPlan, savePlan } from '../dist/storage.js';

const plan = {
  year: 2031,
  beds: [
    { name: 'wall', rows: ['beans', 'beans', 'leek'] },
    { name: 'pond', rows: [] },
  ],
};

test('a saved plan is read back', () => {
  assert.deepEqual(loadPlan(savePlan(plan)), plan);
});

test('refuses what is not a plan', () => {
  for (const text of [
    '[]',
    'null',
    '{"year":2031}',
    '{"year":2031,"beds":[{"name":"wall"}]}',
    '{"version":2,"year":2031,"beds":[]}',
    '{"version":2,"year":2031,"crops":["leek"],"beds":[{"name":"wall","rows":[1]}]}',
    '{"version":2,"year":2031,"crops":["leek"],"beds":[{"name":"wall","rows":[null]}]}',
    '{"version":2,"year":2031,"crops":["leek"],"beds":[{"name":"wall","rows":["0"]}]}',
    '{"version":3,"year":2031,"crops":["leek"],"beds":[{"name":"wall","rows":[0]}]}',
    '{"version":3,"year":2031,"beds":[{"name":"wall","rows":["leek"]}]}',
  ]) {
    assert.throws(() => loadPlan(text), PlanFormatError);
  }
});

test('every crop is written once', () => {
  assert.equal(savePlan(plan).match(/beans/g).length, 1);
});

test('reads files from before there were versions', () => {
  assert.deepEqual(loadPlan('{"year":2031,"beds":[{"name":"wall","rows":["beans","beans","leek"]},{"name":"pond","rows":[]}]}'), plan);
});
