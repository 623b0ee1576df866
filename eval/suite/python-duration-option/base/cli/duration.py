"""Durations as users type them: `90s`, `15m`, `2h`."""

import re
from datetime import timedelta

_UNITS = {"h": "hours", "m": "minutes", "s": "seconds"}
_PATTERN = re.compile(r"([0-9]+)([hms])")


def parse_duration(text: str) -> timedelta:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    count, unit = match.groups()
    return timedelta(**{_UNITS[unit]: int(count)})
