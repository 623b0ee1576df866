import type { Activity } from './activity.js';
import type { ActivityLog } from './log.js';

export interface FeedPage {
  readonly activities: readonly Activity[];
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
}

/** One page of the feed, newest activities first. `cursor` is the `next` of the page before. */
export function feedPage(log: ActivityLog, size: number, cursor?: string): FeedPage {
  const all = log.all();
  const offset = cursor === undefined ? 0 : parseCursor(cursor);
  const activities = all.slice(offset, offset + size);
  const end = offset + activities.length;
  return end < all.length ? { activities, next: String(end) } : { activities };
}

function parseCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) {
    throw new RangeError(`not a cursor: ${cursor}`);
  }
  return Number(cursor);
}
