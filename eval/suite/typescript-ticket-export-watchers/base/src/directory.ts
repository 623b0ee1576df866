export interface Person {
  readonly id: string;
  readonly name: string;
}

/** The directory service. Every call is one request over the network. */
export interface Directory {
  lookup(id: string): Promise<Person | undefined>;
  /** Up to 10,000 ids in one request. People who have left are missing in the result. */
  lookupMany(ids: readonly string[]): Promise<ReadonlyMap<string, Person>>;
}
