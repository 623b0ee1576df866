import { shippingCents } from "./shipping.js";

/** Sum of the lines in cents, without shipping. */
export function goodsCents(lines) {
  return lines.reduce((sum, line) => sum + line.unitCents * line.quantity, 0);
}

/** What the customer pays, in cents. */
export function totalCents(lines, country) {
  return goodsCents(lines) + shippingCents(goodsCents(lines), country);
}
