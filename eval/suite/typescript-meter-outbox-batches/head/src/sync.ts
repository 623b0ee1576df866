import type { Outbox, Reading } from './outbox.js';

/** Sends one reading; resolves when the service has confirmed it. */
export type Send = (reading: Reading) => Promise<void>;

export interface SyncResult {
  readonly sent: number;
  readonly failed: number;
}

/** How many readings are on their way at the same time; more are throttled by the service. */
const BATCH = 16;

/** Sends what is pending, in batches. Readings that fail stay in the outbox for the next run. */
export async function sync(outbox: Outbox, send: Send): Promise<SyncResult> {
  const pending = outbox.pending();
  let sent = 0;
  for (let start = 0; start < pending.length; start += BATCH) {
    const batch = pending.slice(start, start + BATCH);
    const outcomes = await Promise.allSettled(batch.map(async (reading) => send(reading)));

    outcomes.forEach((outcome, i) => {
      if (outcome.status === 'rejected') {
        console.error(`reading ${batch[i]!.id} not sent: ${outcome.reason}`);
      }
    });
    const confirmed = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    confirmed.forEach((_, i) => outbox.remove(batch[i]!.id));
    sent += confirmed.length;
  }
  return { sent, failed: pending.length - sent };
}
