import { randomUUID } from 'node:crypto';

/** Sessions of the kiosk terminals. They end after `idleMs` without a request. */
export class Sessions {
  #sessions = new Map();
  #idleMs;
  #now;

  /** `now` gives milliseconds and must never go back (as `performance.now` does). */
  constructor(idleMs, now = () => performance.now()) {
    this.#idleMs = idleMs;
    this.#now = now;
  }

  get size() {
    return this.#sessions.size;
  }

  open(terminal) {
    const id = randomUUID();
    this.#sessions.set(id, { terminal, lastUsed: this.#now() });
    return id;
  }

  /** The terminal of a live session, which counts as used now; undefined if there is none. */
  use(id) {
    const session = this.#sessions.get(id);
    if (!session) return undefined;
    if (this.#isIdle(session)) {
      this.#sessions.delete(id);
      return undefined;
    }
    session.lastUsed = this.#now();
    return session.terminal;
  }

  close(id) {
    return this.#sessions.delete(id);
  }

  /** Drops the idle sessions; returns how many. Called every few seconds. */
  sweep() {
    const idle = [...this.#sessions].filter(([, session]) => this.#isIdle(session));
    for (const [id] of idle) this.#sessions.delete(id);
    return idle.length;
  }

  #isIdle(session) {
    return this.#now() - session.lastUsed >= this.#idleMs;
  }
}
