import type { Plan } from './plan.js';

/** How many rows of each crop the plan has, for the seed order. */
export function rowsByCrop(plan: Plan): Map<string, number> {
  const rows = new Map<string, number>();
  for (const bed of plan.beds) {
    for (const crop of bed.rows) {
      rows.set(crop, (rows.get(crop) ?? 0) + 1);
    }
  }
  return rows;
}
