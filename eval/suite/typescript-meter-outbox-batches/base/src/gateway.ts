import { Outbox, type Reading } from './outbox.js';
import { sync, type Send } from './sync.js';

/** Collects readings and delivers them whenever `flush` is called (every minute). */
export class Gateway {
  private readonly outbox = new Outbox();
  private running: Promise<void> | undefined;

  constructor(private readonly send: Send) {}

  collect(reading: Reading): void {
    this.outbox.put(reading);
  }

  get backlog(): number {
    return this.outbox.pending().length;
  }

  /** Only one run at a time: a call during a run waits for that one. */
  flush(): Promise<void> {
    this.running ??= sync(this.outbox, this.send)
      .then(({ sent, failed }) => console.log(`sent ${sent}, failed ${failed}`))
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }
}
