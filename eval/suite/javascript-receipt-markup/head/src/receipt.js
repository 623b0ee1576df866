import { html } from './html.js';

const euros = (cents) => (cents / 100).toFixed(2) + ' €';

function row(item) {
  const note = item.note && html`<br><i>${item.note}</i>`;
  return html`<tr><td>${item.title}${note}</td><td>${item.quantity}</td><td>${euros(item.cents * item.quantity)}</td></tr>`;
}

/** The HTML part of a receipt mail. */
export function receiptHtml(order) {
  const total = order.items.reduce((sum, item) => sum + item.cents * item.quantity, 0);
  return [
    html`<p>Hello ${order.customer}, thank you for your order ${order.number}.</p>`,
    html`<table>${order.items.map(row)}</table>`,
    html`<p>Total: <b>${euros(total)}</b></p>`,
    html`<p><a href="${order.statusUrl}">Where is my parcel?</a></p>`,
  ].join('');
}
