export interface Reading {
  readonly id: string;
  readonly meter: string;
  readonly takenAt: number;
  readonly wattHours: number;
}

/** Readings that the service does not have yet, in the order in which they were taken. */
export class Outbox {
  private readonly readings = new Map<string, Reading>();

  put(reading: Reading): void {
    this.readings.set(reading.id, reading);
  }

  pending(): Reading[] {
    return [...this.readings.values()];
  }

  /** Forgets a reading. To be called only when the service has confirmed it: there is no other copy. */
  remove(id: string): void {
    this.readings.delete(id);
  }
}
