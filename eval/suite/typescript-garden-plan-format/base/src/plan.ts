export interface Bed {
  readonly name: string;
  /** Crops by row, from north to south. */
  readonly rows: readonly string[];
}

export interface Plan {
  readonly year: number;
  readonly beds: readonly Bed[];
}
