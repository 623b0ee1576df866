import type { Counters } from './counters.js';

export async function countVisit(counters: Counters, page: string): Promise<void> {
  await counters.add(`visits:${page}`, 1);
}
