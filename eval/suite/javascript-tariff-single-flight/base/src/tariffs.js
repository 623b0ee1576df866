/**
 * Tariffs of the charging stations, kept for `maxAgeMs` after they were loaded.
 */
export class Tariffs {
  #load;
  #maxAgeMs;
  #now;
  #kept = new Map();

  /** @param {(stationId: string) => Promise<object>} load asks the operator's service; has a timeout of its own */
  constructor(load, { maxAgeMs = 60_000, now = Date.now } = {}) {
    this.#load = load;
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  async get(stationId) {
    const kept = this.#kept.get(stationId);
    if (kept && this.#now() - kept.loadedAt < this.#maxAgeMs) {
      return kept.tariff;
    }
    const tariff = await this.#load(stationId);
    this.#kept.set(stationId, { tariff, loadedAt: this.#now() });
    return tariff;
  }
}
