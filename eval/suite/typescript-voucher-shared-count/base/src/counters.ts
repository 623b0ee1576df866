/** Counters that all instances of the shop share. */
export interface Counters {
  /** The value of the counter, 0 if it was never used. */
  get(name: string): Promise<number>;
  /** Adds `amount` (which may be negative) in one step and returns the new value. */
  add(name: string, amount: number): Promise<number>;
}

/** For development and tests: counters of this process. */
export class LocalCounters implements Counters {
  private readonly values = new Map<string, number>();

  async get(name: string): Promise<number> {
    return this.values.get(name) ?? 0;
  }

  async add(name: string, amount: number): Promise<number> {
    const value = (this.values.get(name) ?? 0) + amount;
    this.values.set(name, value);
    return value;
  }
}
