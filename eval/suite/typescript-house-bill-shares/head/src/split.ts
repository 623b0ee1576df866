/** Splits `cents` evenly; the first ones pay a cent more where it does not come out even. */
export function splitEvenly(cents: number, people: number): number[] {
  if (!Number.isSafeInteger(cents)) throw new RangeError(`not a whole number of cents: ${cents}`);
  if (!Number.isSafeInteger(people) || people < 1) throw new RangeError(`cannot split among ${people}`);

  const share = Math.floor(cents / people);
  const left = cents - share * people;
  return Array.from({ length: people }, (_, i) => (i < left ? share + 1 : share));
}

/**
 * Splits `cents` in proportion to `weights` (whole numbers above 0). The parts add up to `cents`:
 * each is rounded down first, and the cents that are left go to those who lost most by rounding,
 * the first ones if several lost the same.
 */
export function splitByWeight(cents: number, weights: readonly number[]): number[] {
  if (!Number.isSafeInteger(cents)) throw new RangeError(`not a whole number of cents: ${cents}`);
  if (weights.length === 0 || !weights.every((weight) => Number.isSafeInteger(weight) && weight > 0)) {
    throw new RangeError('needs weights, and they must be whole numbers above 0');
  }
  const sum = weights.reduce((a, b) => a + b, 0);
  // Below this the products are exact.
  if (!Number.isSafeInteger(cents * sum)) throw new RangeError('amount or weights too large');

  const parts = weights.map((weight, i) => {
    const exact = cents * weight;
    const lost = ((exact % sum) + sum) % sum;
    return { i, cents: (exact - lost) / sum, lost };
  });
  const left = cents - parts.reduce((total, part) => total + part.cents, 0);

  const result = parts.map((part) => part.cents);
  const byLoss = [...parts].sort((a, b) => b.lost - a.lost);
  for (const { i } of byLoss.slice(0, left)) result[i]! += 1;
  return result;
}
