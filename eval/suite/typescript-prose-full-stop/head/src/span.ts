/** A stretch of a text: the characters from `start` up to, but not including, `end`. May be empty. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Joins spans that overlap or touch. The result is in order. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.start - b.start || a.end - b.end);
  const merged: Span[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (last && span.start <= last.end) {
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
    } else {
      merged.push(span);
    }
  }
  return merged;
}
