import type { Plan } from './plan.js';

export class PlanFormatError extends Error {}

// Files without a version were written before there were versions; they hold the crops by name.
// Version 2 lists every crop once and has indexes into that list in the rows.
const VERSION = 2;

/** The text of a plan file. */
export function savePlan(plan: Plan): string {
  const crops: string[] = [];
  const indexes = new Map<string, number>();

  const indexOf = (crop: string): number => {
    let index = indexes.get(crop);
    if (index === undefined) {
      index = crops.push(crop) - 1;
      indexes.set(crop, index);
    }
    return index;
  };

  const beds = plan.beds.map(({ name, rows }) => ({ name, rows: rows.map(indexOf) }));
  return JSON.stringify({ version: VERSION, year: plan.year, crops, beds });
}

/** Reads a plan file of this or of an older version. */
export function loadPlan(text: string): Plan {
  const data: unknown = JSON.parse(text);
  const plan = isRecord(data) && 'version' in data ? withCropNames(data) : data;
  if (!isPlan(plan)) throw new PlanFormatError('not a garden plan');
  return { year: plan.year, beds: plan.beds.map(({ name, rows }) => ({ name, rows })) };
}

/** Puts the names back into the rows. What does not fit is left for `isPlan` to refuse. */
function withCropNames(data: Record<string, unknown>): unknown {
  const { version, year, crops, beds } = data;
  if (version !== VERSION || !Array.isArray(crops) || !Array.isArray(beds)) return undefined;
  return {
    year,
    beds: beds.map((bed: unknown) =>
      isRecord(bed) && Array.isArray(bed.rows)
        ? { name: bed.name, rows: bed.rows.map((index) => (typeof index === 'number' ? crops[index] : undefined)) }
        : bed,
    ),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlan(data: unknown): data is Plan {
  return isRecord(data) && Number.isInteger(data.year) && Array.isArray(data.beds) && data.beds.every(isBed);
}

function isBed(data: unknown): boolean {
  return (
    isRecord(data) &&
    typeof data.name === 'string' &&
    Array.isArray(data.rows) &&
    data.rows.every((row) => typeof row === 'string')
  );
}
