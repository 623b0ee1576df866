export interface Activity {
  /** Unique; counts up in the order in which activities are recorded. */
  readonly id: number;
  /** When it happened, in whole seconds since the epoch. */
  readonly at: number;
  readonly actor: string;
  readonly text: string;
}
