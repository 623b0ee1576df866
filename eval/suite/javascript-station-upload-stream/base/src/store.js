/** Readings in memory, one per station and time: sending the same one again changes nothing. */
export class ReadingStore {
  #stations = new Map();

  add({ station, at, c }) {
    let readings = this.#stations.get(station);
    if (!readings) {
      readings = new Map();
      this.#stations.set(station, readings);
    }
    readings.set(at, c);
  }

  stations() {
    return [...this.#stations.keys()];
  }

  count(station) {
    return this.#stations.get(station)?.size ?? 0;
  }
}
