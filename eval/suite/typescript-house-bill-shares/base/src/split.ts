/** Splits `cents` evenly; the first ones pay a cent more where it does not come out even. */
export function splitEvenly(cents: number, people: number): number[] {
  if (!Number.isSafeInteger(cents)) throw new RangeError(`not a whole number of cents: ${cents}`);
  if (!Number.isSafeInteger(people) || people < 1) throw new RangeError(`cannot split among ${people}`);

  const share = Math.floor(cents / people);
  const left = cents - share * people;
  return Array.from({ length: people }, (_, i) => (i < left ? share + 1 : share));
}
