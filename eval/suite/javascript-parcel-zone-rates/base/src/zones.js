// Island and mountain districts that the carrier serves only twice a week.
const REMOTE = [
  [18565, 18565],
  [25845, 25849],
  [27498, 27499],
  [87561, 87561],
];

/**
 * The delivery zone of a five-digit postal code:
 * 'local' (same region as the warehouse), 'national' or 'remote'.
 */
export function zoneOf(postalCode) {
  if (!/^\d{5}$/.test(postalCode)) {
    throw new RangeError(`not a postal code: ${postalCode}`);
  }
  const code = Number(postalCode);
  if (REMOTE.some(([first, last]) => code >= first && code <= last)) return 'remote';
  return postalCode.startsWith('04') ? 'local' : 'national';
}
