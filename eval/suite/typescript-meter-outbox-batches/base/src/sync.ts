import type { Outbox, Reading } from './outbox.js';

/** Sends one reading; resolves when the service has confirmed it. */
export type Send = (reading: Reading) => Promise<void>;

export interface SyncResult {
  readonly sent: number;
  readonly failed: number;
}

/** Sends what is pending. Readings that fail stay in the outbox for the next run. */
export async function sync(outbox: Outbox, send: Send): Promise<SyncResult> {
  let sent = 0;
  let failed = 0;
  for (const reading of outbox.pending()) {
    try {
      await send(reading);
      outbox.remove(reading.id);
      sent += 1;
    } catch (err) {
      console.error(`reading ${reading.id} not sent: ${err}`);
      failed += 1;
    }
  }
  return { sent, failed };
}
