import { parseReading } from './readings.js';

/**
 * Takes in the body of an upload: one reading per line, in UTF-8.
 * Lines that are not readings are counted and left out.
 *
 * @param {AsyncIterable<Buffer>} body
 */
export async function takeIn(body, store) {
  const chunks = [];
  for await (const chunk of body) {
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');

  const result = { accepted: 0, rejected: 0 };
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const reading = parseReading(line);
    if (reading) {
      store.add(reading);
      result.accepted += 1;
    } else {
      result.rejected += 1;
    }
  }
  return result;
}
