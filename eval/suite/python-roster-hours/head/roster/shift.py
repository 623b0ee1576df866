"""Shifts as the planning tool exports them."""

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class Shift:
    employee: str
    start: datetime  # aware, in the site's zone
    end: datetime  # aware, in the site's zone

    @property
    def day(self) -> date:
        """The day the shift is listed under: the local one on which it starts."""
        return self.start.date()


def parse_shift(record: dict, site_zone: ZoneInfo) -> Shift:
    """Build a shift from an export record with the site's local times."""

    def local(text: str) -> datetime:
        return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=site_zone)

    shift = Shift(record["employee"], local(record["from"]), local(record["to"]))
    if shift.end <= shift.start:
        raise ValueError(f"shift of {shift.employee} ends before it starts")
    return shift
