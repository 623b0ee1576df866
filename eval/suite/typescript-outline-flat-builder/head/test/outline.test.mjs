import assert from 'node:assert/strict';
import test from 'node:test';
import { buildOutline } from '../dist/outline.js';
import { renderOutline } from '../dist/render.js';

const outline = (...levels) =>
  renderOutline(buildOutline(levels.map((level, i) => ({ level, title: `h${i}` }))));

test('sections below chapters', () => {
  assert.equal(outline(1, 2, 2, 1, 2), '- h0\n  - h1\n  - h2\n- h3\n  - h4\n');
});

test('a level that is left out does not add a step', () => {
  assert.equal(outline(1, 3, 2, 1), '- h0\n  - h1\n  - h2\n- h3\n');
});

test('a document may begin with a deep heading', () => {
  assert.equal(outline(3, 2, 1, 2), '- h0\n- h1\n- h2\n  - h3\n');
});

test('refuses impossible levels', () => {
  assert.throws(() => outline(1, 0), RangeError);
  assert.throws(() => outline(1.5), RangeError);
});

test('very deep documents', () => {
  const headings = Array.from({ length: 20_000 }, (_, i) => ({ level: i + 1, title: 'deep' }));
  let depth = 0;
  for (let nodes = buildOutline(headings); nodes.length > 0; nodes = nodes[0].children) depth += 1;
  assert.equal(depth, 20_000);
});

test('nothing for a document without headings', () => {
  assert.deepEqual(buildOutline([]), []);
});
