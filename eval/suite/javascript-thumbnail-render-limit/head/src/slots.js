/** At most `size` holders at a time; the others wait in the order in which they came. */
export class Slots {
  #free;
  #waiting = [];

  constructor(size) {
    if (!Number.isInteger(size) || size < 1) {
      throw new RangeError(`size must be a positive integer: ${size}`);
    }
    this.#free = size;
  }

  async acquire() {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise((resolve) => this.#waiting.push(resolve));
  }

  release() {
    const next = this.#waiting.shift();
    // The slot goes straight to the next one in line and is not counted as free in between.
    if (next) next();
    else this.#free += 1;
  }
}
