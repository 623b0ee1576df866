import type { Plan } from './plan.js';

export class PlanFormatError extends Error {}

/** The text of a plan file. */
export function savePlan(plan: Plan): string {
  return JSON.stringify({ year: plan.year, beds: plan.beds });
}

/** Reads a plan file. */
export function loadPlan(text: string): Plan {
  const data: unknown = JSON.parse(text);
  if (!isPlan(data)) throw new PlanFormatError('not a garden plan');
  return { year: data.year, beds: data.beds.map(({ name, rows }) => ({ name, rows })) };
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
