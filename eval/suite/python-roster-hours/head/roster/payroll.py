"""Paid hours and night bonus."""

from datetime import date, timedelta

from roster.shift import Shift

BREAK_AFTER = timedelta(hours=6)
BREAK = timedelta(minutes=30)


def paid_time(shift: Shift) -> timedelta:
    """The time that is paid: all of the shift but the unpaid break."""
    worked = shift.end - shift.start
    if worked > BREAK_AFTER:
        worked -= BREAK
    return worked


def starts_at_night(shift: Shift) -> bool:
    return shift.start.hour >= 22 or shift.start.hour < 5


def monthly_hours(shifts: list[Shift]) -> dict[str, float]:
    totals: dict[str, timedelta] = {}
    for shift in shifts:
        sofar = totals.get(shift.employee, timedelta())
        totals[shift.employee] = sofar + paid_time(shift)
    return {name: total / timedelta(hours=1) for name, total in totals.items()}


def hours_by_day(shifts: list[Shift]) -> dict[date, float]:
    """Paid hours of all employees together, by the day the shifts start on."""
    totals: dict[date, timedelta] = {}
    for shift in shifts:
        totals[shift.day] = totals.get(shift.day, timedelta()) + paid_time(shift)
    return {day: totals[day] / timedelta(hours=1) for day in sorted(totals)}
