import { escape } from './escape.js';

const euros = (cents) => (cents / 100).toFixed(2) + ' €';

function row(item) {
  let out = '<tr><td>' + escape(item.title);
  if (item.note) {
    out += '<br><i>' + escape(item.note) + '</i>';
  }
  return out + '</td><td>' + item.quantity + '</td><td>' + euros(item.cents * item.quantity) + '</td></tr>';
}

/** The HTML part of a receipt mail. */
export function receiptHtml(order) {
  const total = order.items.reduce((sum, item) => sum + item.cents * item.quantity, 0);
  return (
    '<p>Hello ' + escape(order.customer) + ', thank you for your order ' + escape(order.number) + '.</p>' +
    '<table>' + order.items.map(row).join('') + '</table>' +
    '<p>Total: <b>' + euros(total) + '</b></p>' +
    '<p><a href="' + escape(order.statusUrl) + '">Where is my parcel?</a></p>'
  );
}
