export interface Flags {
  retries?: number;
  timeoutMs?: number;
  parallel?: number;
}

export function parseFlags(argv: readonly string[]): Flags {
  return {
    retries: numberFlag(argv, '--retries'),
    timeoutMs: numberFlag(argv, '--timeout-ms'),
    parallel: numberFlag(argv, '--parallel'),
  };
}

/** The value behind `name`, undefined if the flag was not given. */
function numberFlag(argv: readonly string[], name: string): number | undefined {
  const at = argv.indexOf(name);
  return at === -1 ? undefined : wholeNumber(name, argv[at + 1]);
}

export function wholeNumber(name: string, text: string | undefined): number {
  if (text === undefined || !/^\d{1,9}$/.test(text)) {
    throw new Error(`${name} needs a whole number, not ${text ?? 'nothing'}`);
  }
  return Number(text);
}
