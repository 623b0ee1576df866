/**
 * Tariffs of the charging stations, kept for `maxAgeMs` after they were loaded.
 * Callers that ask for the same station while it is being loaded share one request.
 */
export class Tariffs {
  #load;
  #maxAgeMs;
  #now;
  #kept = new Map();
  #loading = new Map();

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

    let loading = this.#loading.get(stationId);
    if (!loading) {
      loading = this.#reload(stationId).finally(() => this.#loading.delete(stationId));
      this.#loading.set(stationId, loading);
    }
    return loading;
  }

  async #reload(stationId) {
    const tariff = await this.#load(stationId);
    this.#kept.set(stationId, { tariff, loadedAt: this.#now() });
    return tariff;
  }
}
