const FREE_FROM_CENTS = 5000;
const HOME_CENTS = 490;
const ABROAD_CENTS = 1290;

/** Shipping of a basket with goods of that value, in cents. */
export function shippingCents(goodsCents, country) {
  if (goodsCents === 0) {
    return 0;
  }
  if (country !== "home") {
    return ABROAD_CENTS;
  }
  return goodsCents >= FREE_FROM_CENTS ? 0 : HOME_CENTS;
}
