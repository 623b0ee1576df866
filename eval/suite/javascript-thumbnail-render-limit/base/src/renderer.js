/** The key under which the thumbnail of `job` is stored. */
export function targetKey({ key, width }) {
  return `thumbs/${width}/${key}`;
}

export class Renderer {
  /**
   * @param {object} store   head(key) -> {modified} | null, get(key) -> Buffer, put(key, Buffer); all async
   * @param {(image: Buffer, width: number) => Promise<Buffer>} scale
   */
  constructor(store, scale) {
    this.store = store;
    this.scale = scale;
  }

  /** Makes one thumbnail unless an up-to-date one is stored already. */
  async render(job) {
    const source = await this.store.head(job.key);
    if (!source) {
      return { status: 'missing' };
    }

    const target = targetKey(job);
    const existing = await this.store.head(target);
    if (existing && existing.modified >= source.modified) {
      return { status: 'fresh', key: target };
    }

    const image = await this.store.get(job.key);
    await this.store.put(target, await this.scale(image, job.width));
    return { status: 'rendered', key: target };
  }
}
