/**
 * Parses one line of an upload, e.g. {"station":"Zürich-Nord","at":1714557600,"c":11.5}.
 * Returns null for a line that is not a valid reading.
 */
export function parseReading(line) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (value === null || typeof value !== 'object') return null;
  const { station, at, c } = value;
  if (typeof station !== 'string' || !Number.isInteger(at) || typeof c !== 'number') return null;
  return { station, at, c };
}
