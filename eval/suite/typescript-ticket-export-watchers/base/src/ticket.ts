export interface Ticket {
  readonly number: number;
  readonly title: string;
  readonly assignee: string | undefined;
  /** Ids of the people who are told about changes. */
  readonly watchers: readonly string[];
}
