import type { Span } from './span.js';

export interface Finding {
  readonly span: Span;
  readonly message: string;
  /** What the span should be replaced with. */
  readonly replacement: string;
}

/** Looks through one line of prose. */
export function checkLine(line: string): Finding[] {
  const findings: Finding[] = [];

  for (const match of line.matchAll(/ {2,}/g)) {
    findings.push({
      span: { start: match.index, end: match.index + match[0].length - 1 },
      message: 'more than one blank',
      replacement: ' ',
    });
  }

  for (const match of line.matchAll(/\b(\p{L}+) \1\b/giu)) {
    findings.push({
      span: { start: match.index, end: match.index + match[0].length - 1 },
      message: `"${match[1]}" stands here twice`,
      replacement: match[1]!,
    });
  }

  return findings;
}
