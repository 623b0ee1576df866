// Cents for a parcel up to the given weight in grams, lightest first.
const RATES = {
  local: [[2000, 390], [10000, 690], [31500, 1190]],
  national: [[2000, 490], [10000, 890], [31500, 1690]],
  remote: [[2000, 890], [10000, 1490], [31500, 2890]],
};

/** The price in cents of one parcel, or null if it is too heavy for the carrier. */
export function rateFor(zone, grams) {
  if (!Object.hasOwn(RATES, zone)) {
    throw new RangeError(`unknown zone: ${zone}`);
  }
  if (!(grams > 0)) {
    throw new RangeError(`not a weight: ${grams}`);
  }
  const step = RATES[zone].find(([upTo]) => grams <= upTo);
  return step ? step[1] : null;
}
