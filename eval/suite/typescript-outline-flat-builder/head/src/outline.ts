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
  const roots: OutlineNode[] = [];
  // The open headings from the outermost to the innermost. The first entry stands for the document.
  const open: { level: number; children: OutlineNode[] }[] = [{ level: 0, children: roots }];

  for (const { level, title } of headings) {
    if (!Number.isInteger(level) || level < 1) {
      throw new RangeError(`level of "${title}" must be 1 or more: ${level}`);
    }
    while (open.at(-1)!.level >= level) open.pop();

    const node: OutlineNode = { title, children: [] };
    open.at(-1)!.children.push(node);
    open.push({ level, children: node.children });
  }
  return roots;
}
