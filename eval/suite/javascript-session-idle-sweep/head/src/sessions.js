import { randomUUID } from 'node:crypto';

/** Sessions of the kiosk terminals. They end after `idleMs` without a request. */
export class Sessions {
  // In order of last use, least recently used first: `use` moves a session to the end.
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
    this.#sessions.delete(id);
    if (this.#isIdle(session)) return undefined;
    session.lastUsed = this.#now();
    this.#sessions.set(id, session);
    return session.terminal;
  }

  close(id) {
    return this.#sessions.delete(id);
  }

  /** Drops the idle sessions; returns how many. Called every few seconds. */
  sweep() {
    let dropped = 0;
    for (const [id, session] of this.#sessions) {
      if (!this.#isIdle(session)) break;
      this.#sessions.delete(id);
      dropped += 1;
    }
    return dropped;
  }

  #isIdle(session) {
    return this.#now() - session.lastUsed >= this.#idleMs;
  }
}
