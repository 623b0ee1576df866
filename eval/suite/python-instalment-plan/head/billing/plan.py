"""When an invoice has to be paid."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from billing.invoice import Invoice

TERM = timedelta(days=14)
MAX_INSTALMENTS = 24


@dataclass(frozen=True)
class Due:
    on: date
    cents: int


def schedule(invoice: Invoice, instalments: int = 1) -> list[Due]:
    """Split the total into monthly instalments that differ by at most a cent.

    The first is due after the usual term, the others on the same day of the
    following months (the last day where a month is too short).
    """
    if not 1 <= instalments <= MAX_INSTALMENTS:
        raise ValueError(f"1 to {MAX_INSTALMENTS} instalments, not {instalments}")
    if instalments > invoice.total_cents:
        raise ValueError("every instalment must be at least one cent")
    first = invoice.issued + TERM
    each, left_over = divmod(invoice.total_cents, instalments)
    return [
        Due(_months_later(first, index), each + (1 if index < left_over else 0))
        for index in range(instalments)
    ]


def _months_later(day: date, months: int) -> date:
    # Always counted from the first due date: going from month to month would
    # stay on the 28th after a February.
    years, month0 = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, month0 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))
