import { fromEnvironment, type Environment } from './environment.js';
import type { Flags } from './flags.js';

export interface Options {
  /** How often a failed download is tried again. */
  retries: number;
  timeoutMs: number;
  /** How many downloads run at the same time. */
  parallel: number;
}

const DEFAULTS: Options = {
  retries: 3,
  timeoutMs: 20_000,
  parallel: 4,
};

/** Flags win over the environment, the environment over the defaults. */
export function resolveOptions(flags: Flags, env: Environment): Options {
  const options = { ...DEFAULTS, ...fromEnvironment(env), ...flags };
  return { ...options, parallel: Math.max(1, options.parallel) };
}
