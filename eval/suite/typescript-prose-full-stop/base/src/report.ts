import type { Finding } from './check.js';
import { mergeSpans } from './span.js';

/** The line with its findings marked below it, and the messages. */
export function reportLine(line: string, findings: readonly Finding[]): string {
  let marks = '';
  for (const span of mergeSpans(findings.map((finding) => finding.span))) {
    marks = marks.padEnd(span.start) + '^'.repeat(span.end - span.start + 1);
  }
  const messages = findings.map((finding) => `  - ${finding.message}`);
  return [line, marks, ...messages].join('\n');
}
