import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/**
 * Maps the path of a request to a file below `root` (an absolute path).
 * Returns null for paths that cannot name one of our files.
 */
export function locate(root, urlPath) {
  let decoded;
  try {
    decoded = decodeURIComponent(urlPath);
  } catch {
    return null;
  }
  if (decoded.includes('\0')) return null;

  const file = path.join(root, decoded.endsWith('/') ? decoded + 'index.html' : decoded);
  return file.startsWith(root + path.sep) ? file : null;
}

export function contentType(file) {
  return TYPES[path.extname(file)] ?? 'application/octet-stream';
}

export async function isFile(file) {
  try {
    return (await stat(file)).isFile();
  } catch (err) {
    if (err.code === 'ENOENT' || err.code === 'ENOTDIR' || err.code === 'ENAMETOOLONG') return false;
    throw err;
  }
}

export async function load(file) {
  return { type: contentType(file), body: await readFile(file) };
}
