"""Tickets in SQLite."""

import sqlite3


class NoSuchTicket(Exception):
    """The ticket is not there."""


def connect(path):
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    return connection


def open_tickets(connection, customer_id):
    """The open tickets of a customer, oldest first."""
    return connection.execute(
        "SELECT id, title, email FROM tickets WHERE customer_id = ? AND closed = 0 ORDER BY id",
        (customer_id,),
    ).fetchall()


def close_ticket(connection, ticket_id):
    """Closes a ticket and returns it; raises NoSuchTicket if there is none."""
    row = connection.execute("SELECT id, title, email FROM tickets WHERE id = ?", (ticket_id,)).fetchone()
    if row is None:
        raise NoSuchTicket(ticket_id)
    connection.execute("UPDATE tickets SET closed = 1 WHERE id = ?", (ticket_id,))
    connection.commit()
    return row
