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

  const lines = [csvLine(['number', 'title', 'assignee'])];
  for (const ticket of tickets) {
    const assignee = ticket.assignee === undefined ? '' : (people.get(ticket.assignee)?.name ?? ticket.assignee);
    lines.push(csvLine([ticket.number, ticket.title, assignee]));
  }
  return lines.join('\r\n') + '\r\n';
}
