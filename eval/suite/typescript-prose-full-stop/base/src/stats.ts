import type { Finding } from './check.js';
import { mergeSpans } from './span.js';

/** How many characters of a line are part of some finding. */
export function affectedCharacters(findings: readonly Finding[]): number {
  return mergeSpans(findings.map((finding) => finding.span)).reduce(
    (sum, span) => sum + (span.end - span.start + 1),
    0,
  );
}
