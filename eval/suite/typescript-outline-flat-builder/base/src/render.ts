import type { OutlineNode } from './outline.js';

/** The outline as an indented list. */
export function renderOutline(nodes: readonly OutlineNode[]): string {
  const lines: string[] = [];
  const open = nodes.map((node) => ({ node, depth: 0 })).reverse();
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    lines.push('  '.repeat(depth) + '- ' + node.title);
    for (const child of [...node.children].reverse()) open.push({ node: child, depth: depth + 1 });
  }
  return lines.map((line) => line + '\n').join('');
}
