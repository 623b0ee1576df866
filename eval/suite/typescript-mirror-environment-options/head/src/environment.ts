import { wholeNumber } from './flags.js';
import type { Options } from './options.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLES: Record<keyof Options, string> = {
  retries: 'MIRROR_RETRIES',
  timeoutMs: 'MIRROR_TIMEOUT_MS',
  parallel: 'MIRROR_PARALLEL',
};

/** The options that are set in the environment. Empty variables count as not set. */
export function fromEnvironment(env: Environment): Partial<Options> {
  const found: Partial<Options> = {};
  for (const [option, variable] of Object.entries(VARIABLES) as [keyof Options, string][]) {
    const text = env[variable];
    if (text) found[option] = wholeNumber(variable, text);
  }
  return found;
}
