"""Paid hours and night bonus."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from roster.shift import Shift

BREAK_AFTER = timedelta(hours=6)
BREAK = timedelta(minutes=30)


def paid_time(shift: Shift) -> timedelta:
    """The time that is paid: all of the shift but the unpaid break."""
    worked = shift.end - shift.start
    if worked > BREAK_AFTER:
        worked -= BREAK
    return worked


def starts_at_night(shift: Shift, site_zone: ZoneInfo) -> bool:
    hour = shift.start.astimezone(site_zone).hour
    return hour >= 22 or hour < 5


def monthly_hours(shifts: list[Shift]) -> dict[str, float]:
    totals: dict[str, timedelta] = {}
    for shift in shifts:
        sofar = totals.get(shift.employee, timedelta())
        totals[shift.employee] = sofar + paid_time(shift)
    return {name: total / timedelta(hours=1) for name, total in totals.items()}
