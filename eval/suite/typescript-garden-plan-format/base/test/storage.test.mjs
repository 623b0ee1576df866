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
  for (const text of ['[]', 'null', '{"year":2031}', '{"year":2031,"beds":[{"name":"wall"}]}']) {
    assert.throws(() => loadPlan(text), PlanFormatError);
  }
});
