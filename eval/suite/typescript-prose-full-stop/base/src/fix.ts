import type { Finding } from './check.js';

/** Applies the replacements to the line they were found in. Of two that overlap the later one wins. */
export function fixLine(line: string, findings: readonly Finding[]): string {
  const fromTheEnd = [...findings].sort((a, b) => b.span.start - a.span.start);
  let fixed = line;
  let untouched = line.length;
  for (const { span, replacement } of fromTheEnd) {
    if (span.end >= untouched) continue;
    fixed = fixed.slice(0, span.start) + replacement + fixed.slice(span.end + 1);
    untouched = span.start;
  }
  return fixed;
}
