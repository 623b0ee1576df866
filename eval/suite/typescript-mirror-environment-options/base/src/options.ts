import type { Flags } from './flags.js';

export interface Options {
  /** How often a failed download is tried again. */
  retries: number;
  timeoutMs: number;
  /** How many downloads run at the same time. */
  parallel: number;
}

export function resolveOptions(flags: Flags): Options {
  return {
    retries: flags.retries ?? 3,
    timeoutMs: flags.timeoutMs ?? 20_000,
    parallel: Math.max(1, flags.parallel ?? 4),
  };
}
