import { Slots } from './slots.js';

/** The key under which the thumbnail of `job` is stored. */
export function targetKey({ key, width }) {
  return `thumbs/${width}/${key}`;
}

export class Renderer {
  /**
   * @param {object} store   head(key) -> {modified} | null, get(key) -> Buffer, put(key, Buffer); all async
   * @param {(image: Buffer, width: number) => Promise<Buffer>} scale
   * @param {number} limit   how many images may be in memory at the same time
   */
  constructor(store, scale, limit = 4) {
    this.store = store;
    this.scale = scale;
    this.slots = new Slots(limit);
  }

  /** Makes one thumbnail unless an up-to-date one is stored already. */
  async render(job) {
    const source = await this.store.head(job.key);
    if (!source) {
      return { status: 'missing' };
    }

    await this.slots.acquire();

    // Look only now: the same job may have been rendered while this one waited.
    const target = targetKey(job);
    const existing = await this.store.head(target);
    if (existing && existing.modified >= source.modified) {
      return { status: 'fresh', key: target };
    }

    try {
      const image = await this.store.get(job.key);
      await this.store.put(target, await this.scale(image, job.width));
    } finally {
      this.slots.release();
    }
    return { status: 'rendered', key: target };
  }
}
