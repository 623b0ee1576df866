import type { Activity } from './activity.js';
import type { ActivityLog } from './log.js';

export interface FeedPage {
  readonly activities: readonly Activity[];
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
}

/**
 * One page of the feed, newest activities first. `cursor` is the `next` of the page before:
 * the time of its last activity, so activities that arrive in the meantime do not move the pages.
 */
export function feedPage(log: ActivityLog, size: number, cursor?: string): FeedPage {
  const older = olderThan(log.all(), cursor === undefined ? Infinity : parseCursor(cursor));
  const activities = older.slice(0, size);
  const last = activities.at(-1);
  return last && older.length > activities.length
    ? { activities, next: String(last.at) }
    : { activities };
}

/** The part of the list, which is ordered newest first, from before the given time. */
function olderThan(newestFirst: readonly Activity[], time: number): readonly Activity[] {
  let low = 0;
  let high = newestFirst.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (newestFirst[middle]!.at < time) high = middle;
    else low = middle + 1;
  }
  return newestFirst.slice(low);
}

function parseCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) {
    throw new RangeError(`not a cursor: ${cursor}`);
  }
  return Number(cursor);
}
