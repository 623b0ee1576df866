import { splitByWeight, splitEvenly } from './split.js';

export interface Flat {
  readonly name: string;
  /** Whole square metres, as in the lease; more than 0. */
  readonly squareMetres: number;
}

export interface Bill {
  readonly title: string;
  /** Negative for a refund. */
  readonly cents: number;
  /** By which key it is shared; evenly if it does not say. */
  readonly key?: 'even' | 'area';
}

/** What each flat of the house pays for a bill; together exactly its amount. */
export function sharesOf(bill: Bill, flats: readonly Flat[]): Map<string, number> {
  const shares =
    bill.key === 'area'
      ? splitByWeight(bill.cents, flats.map((flat) => flat.squareMetres))
      : splitEvenly(bill.cents, flats.length);
  return new Map(flats.map((flat, i) => [flat.name, shares[i]!]));
}
