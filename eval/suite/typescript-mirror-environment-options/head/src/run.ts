import type { Environment } from './environment.js';
import { parseFlags } from './flags.js';
import { mirror, type Download } from './mirror.js';
import { resolveOptions } from './options.js';

/** The whole program; returns the exit code. */
export async function run(
  argv: readonly string[],
  env: Environment,
  urls: readonly string[],
  download: Download,
): Promise<number> {
  const failed = await mirror(urls, download, resolveOptions(parseFlags(argv), env));
  for (const url of failed) console.error(`not mirrored: ${url}`);
  return failed.length === 0 ? 0 : 1;
}
