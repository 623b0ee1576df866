export interface Heading {
  /** 1 for a chapter, 2 for a section, and so on; levels may be left out. */
  readonly level: number;
  readonly title: string;
}

export interface OutlineNode {
  readonly title: string;
  readonly children: OutlineNode[];
}

/** Nests headings, which come in the order of the document, by their levels. */
export function buildOutline(headings: readonly Heading[]): OutlineNode[] {
  for (const { level, title } of headings) {
    if (!Number.isInteger(level) || level < 1) {
      throw new RangeError(`level of "${title}" must be 1 or more: ${level}`);
    }
  }
  return nest(headings);
}

function nest(headings: readonly Heading[]): OutlineNode[] {
  const nodes: OutlineNode[] = [];
  let i = 0;
  while (i < headings.length) {
    const { level, title } = headings[i]!;
    let end = i + 1;
    while (end < headings.length && headings[end]!.level > level) end++;
    nodes.push({ title, children: nest(headings.slice(i + 1, end)) });
    i = end;
  }
  return nodes;
}
