import assert from 'node:assert/strict';
import test from 'node:test';
import { receiptHtml } from '../src/receipt.js';

const order = {
  customer: 'Bo <b>"Bold"</b> & Sons',
  number: 'R-17',
  statusUrl: 'https://parcels.example/track?id=17&lang=en',
  items: [
    { title: 'Tea <loose>', quantity: 2, cents: 350, note: 'grind & mix' },
    { title: 'Cup', quantity: 1, cents: 999 },
  ],
};

test('the whole receipt', () => {
  assert.equal(
    receiptHtml(order),
    '<p>Hello Bo &lt;b&gt;&quot;Bold&quot;&lt;/b&gt; &amp; Sons, thank you for your order R-17.</p>' +
      '<table><tr><td>Tea &lt;loose&gt;<br><i>grind &amp; mix</i></td><td>2</td><td>7.00 €</td></tr>' +
      '<tr><td>Cup</td><td>1</td><td>9.99 €</td></tr></table>' +
      '<p>Total: <b>16.99 €</b></p>' +
      '<p><a href="https://parcels.example/track?id=17&amp;lang=en">Where is my parcel?</a></p>',
  );
});
