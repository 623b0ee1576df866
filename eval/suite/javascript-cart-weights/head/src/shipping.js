const FREE_FROM_CENTS = 5000;
const HOME_CENTS = 490;
<<<<<<< HEAD
const ABROAD_CENTS = 1290;
const HEAVY_FROM_GRAMS = 10_000;
const HEAVY_CENTS = 900;
=======
const ABROAD_CENTS = 1390;
>>>>>>> main

/**
 * Shipping of a basket with goods of that value and weight, in cents. Heavy
 * baskets pay a surcharge, also where shipping is free otherwise.
 */
export function shippingCents(goodsCents, grams, country) {
  if (goodsCents === 0) {
    return 0;
  }
  const surcharge = grams >= HEAVY_FROM_GRAMS ? HEAVY_CENTS : 0;
  if (country !== "home") {
    return ABROAD_CENTS + surcharge;
  }
  return (goodsCents >= FREE_FROM_CENTS ? 0 : HOME_CENTS) + surcharge;
}
