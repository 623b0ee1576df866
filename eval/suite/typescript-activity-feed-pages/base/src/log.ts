import type { Activity } from './activity.js';

/** The activities of one workspace. */
export class ActivityLog {
  private readonly newestFirst: Activity[] = [];
  private lastId = 0;

  record(at: number, actor: string, text: string): Activity {
    const activity = { id: ++this.lastId, at, actor, text };
    // Almost always at the front; devices that were offline deliver older ones.
    const place = this.newestFirst.findIndex((other) => other.at <= at);
    this.newestFirst.splice(place === -1 ? this.newestFirst.length : place, 0, activity);
    return activity;
  }

  /** Records what an import created; all of it happened at the time of the import. */
  recordImport(at: number, actor: string, titles: readonly string[]): void {
    for (const title of titles) {
      this.record(at, actor, `imported ${title}`);
    }
  }

  /** Newest first; of the same time the one recorded last comes first. */
  all(): readonly Activity[] {
    return this.newestFirst;
  }
}
