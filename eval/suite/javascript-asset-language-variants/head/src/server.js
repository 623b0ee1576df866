import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isFile, load, locate, translated } from './assets.js';

function send(res, status, type, body) {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  res.end(body);
}

export function createServer(root) {
  const absoluteRoot = path.resolve(root);

  return http.createServer(async (req, res) => {
    try {
      if (req.method !== 'GET') {
        return send(res, 405, 'text/plain', 'method not allowed\n');
      }
      const [pathname, query = ''] = req.url.split('?', 2);
      const file = locate(absoluteRoot, pathname);
      if (file === null || !(await isFile(file))) {
        return send(res, 404, 'text/plain', 'not found\n');
      }
      const lang = new URLSearchParams(query).get('lang');
      const asset = await load(await translated(file, lang));
      send(res, 200, asset.type, asset.body);
    } catch (err) {
      console.error('request failed', req.url, err);
      if (!res.headersSent) send(res, 500, 'text/plain', 'internal error\n');
      else res.destroy();
    }
  });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  createServer(process.argv[2] ?? 'public').listen(8080);
}
