"""When an invoice has to be paid."""

from dataclasses import dataclass
from datetime import date, timedelta

from billing.invoice import Invoice

TERM = timedelta(days=14)


@dataclass(frozen=True)
class Due:
    on: date
    cents: int


def schedule(invoice: Invoice) -> list[Due]:
    return [Due(invoice.issued + TERM, invoice.total_cents)]
