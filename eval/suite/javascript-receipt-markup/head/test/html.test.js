import assert from 'node:assert/strict';
import test from 'node:test';
import { html } from '../src/html.js';

test('escapes values and keeps markup', () => {
  assert.equal(String(html`<p>${'a < b'}${html`<br>`}${['"', html`<hr>`]}</p>`), '<p>a &lt; b<br>&quot;<hr></p>');
});

test('nothing for null, undefined and false, but a zero is shown', () => {
  assert.equal(String(html`[${null}${undefined}${false}${''}${0}]`), '[0]');
});

test('an object that only looks like markup is escaped', () => {
  assert.equal(String(html`${{ toString: () => '<b>' }}`), '&lt;b&gt;');
});
