"""Shifts as the planning tool exports them."""

from dataclasses import dataclass
from datetime import datetime, timezone
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class Shift:
    employee: str
    start: datetime  # UTC
    end: datetime  # UTC


def parse_shift(record: dict, site_zone: ZoneInfo) -> Shift:
    """Build a shift from an export record with the site's local times."""

    def instant(text: str) -> datetime:
        local = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=site_zone)
        return local.astimezone(timezone.utc)

    shift = Shift(record["employee"], instant(record["from"]), instant(record["to"]))
    if shift.end <= shift.start:
        raise ValueError(f"shift of {shift.employee} ends before it starts")
    return shift
