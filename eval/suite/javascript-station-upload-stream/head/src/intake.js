import { parseReading } from './readings.js';

// Far longer than any reading; a body without line breaks must not fill the memory.
const MAX_LINE = 64 * 1024;

/**
 * Takes in the body of an upload: one reading per line, in UTF-8.
 * Lines that are not readings are counted and left out. Readings are stored as they
 * arrive; those of an upload that breaks off stay and are sent again by the station.
 * A line that is longer than MAX_LINE ends the upload with a RangeError.
 *
 * @param {AsyncIterable<Buffer>} body
 */
export async function takeIn(body, store) {
  const result = { accepted: 0, rejected: 0 };

  const takeLine = (line) => {
    if (line.trim() === '') return;
    const reading = parseReading(line);
    if (reading) {
      store.add(reading);
      result.accepted += 1;
    } else {
      result.rejected += 1;
    }
  };

  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop();
    lines.forEach(takeLine);
    if (rest.length > MAX_LINE) {
      throw new RangeError(`line longer than ${MAX_LINE} characters`);
    }
  }
  takeLine(rest);
  return result;
}
