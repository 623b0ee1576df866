import type { Options } from './options.js';

export type Download = (url: string, timeoutMs: number) => Promise<void>;

/** Downloads all urls; returns those that failed even after the retries. */
export async function mirror(urls: readonly string[], download: Download, options: Options): Promise<string[]> {
  const waiting = [...urls];
  const failed: string[] = [];

  async function worker(): Promise<void> {
    for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
      if (!(await attempt(url, download, options))) failed.push(url);
    }
  }

  await Promise.all(Array.from({ length: options.parallel }, worker));
  return failed;
}

async function attempt(url: string, download: Download, options: Options): Promise<boolean> {
  for (let tries = 0; tries <= options.retries; tries++) {
    try {
      await download(url, options.timeoutMs);
      return true;
    } catch (err) {
      console.error(`${url}: ${err}`);
    }
  }
  return false;
}
