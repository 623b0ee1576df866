import { csvLine } from './csv.js';
import type { Directory } from './directory.js';
import type { Ticket } from './ticket.js';

/** All tickets of a project (some have several thousand) as CSV. */
export async function exportTickets(tickets: readonly Ticket[], directory: Directory): Promise<string> {
  const ids = new Set<string>();
  for (const ticket of tickets) {
    if (ticket.assignee !== undefined) ids.add(ticket.assignee);
  }
  const people = await directory.lookupMany([...ids]);

  const lines = [csvLine(['number', 'title', 'assignee', 'watchers'])];
  for (const ticket of tickets) {
    const assignee = ticket.assignee === undefined ? '' : (people.get(ticket.assignee)?.name ?? ticket.assignee);
    const watchers = await watcherNames(ticket, directory);
    lines.push(csvLine([ticket.number, ticket.title, assignee, watchers.join('; ')]));
  }
  return lines.join('\r\n') + '\r\n';
}

/** The names in alphabetical order; people who have left appear with their id. */
async function watcherNames(ticket: Ticket, directory: Directory): Promise<string[]> {
  const names = await Promise.all(
    ticket.watchers.map(async (id) => (await directory.lookup(id))?.name ?? id),
  );
  return names.sort((a, b) => a.localeCompare(b));
}
