import assert from 'node:assert/strict';
import test from 'node:test';
import { Sessions } from '../src/sessions.js';

test('an unused session ends', () => {
  let time = 0;
  const sessions = new Sessions(100, () => time);
  const id = sessions.open('T1');
  time = 99;
  assert.equal(sessions.use(id), 'T1');
  time = 199;
  assert.equal(sessions.use(id), undefined);
  assert.equal(sessions.size, 0);
});

test('sweep drops only idle sessions', () => {
  let time = 0;
  const sessions = new Sessions(100, () => time);
  sessions.open('T1');
  time = 50;
  const second = sessions.open('T2');
  time = 120;
  assert.equal(sessions.sweep(), 1);
  assert.equal(sessions.use(second), 'T2');
});

test('sweep finds idle sessions behind one that is in use', () => {
  let time = 0;
  const sessions = new Sessions(100, () => time);
  const first = sessions.open('T1');
  sessions.open('T2');
  sessions.open('T3');
  time = 60;
  assert.equal(sessions.use(first), 'T1');
  time = 110;
  assert.equal(sessions.sweep(), 2);
  assert.equal(sessions.size, 1);
  assert.equal(sessions.use(first), 'T1');
});
