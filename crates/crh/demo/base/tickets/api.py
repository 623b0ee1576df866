"""What the web server calls."""

from tickets import notify
from tickets import store

PAGE_SIZE = 20


def page(tickets, number):
    """One page of a list; the first page is 1."""
    start = (number - 1) * PAGE_SIZE
    return tickets[start : start + PAGE_SIZE]


def list_tickets(connection, customer_id, number=1):
    tickets = store.open_tickets(connection, customer_id)
    return {"tickets": [dict(ticket) for ticket in page(tickets, number)]}


def close(connection, ticket_id, mail_host):
    try:
        ticket = store.close_ticket(connection, ticket_id)
    except store.NoSuchTicket:
        return {"error": "no such ticket"}, 404
    notify.send(notify.closed_mail(ticket), mail_host)
    return {"closed": ticket_id}, 200
