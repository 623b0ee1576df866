"""Durations as users type them: `90s`, `15m`, `1h30m`."""

import re
from datetime import timedelta

# Each unit at most once, the bigger ones first.
_PATTERN = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")


def parse_duration(text: str) -> timedelta:
    match = _PATTERN.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"not a duration: {text!r}")
    hours, minutes, seconds = (int(count or 0) for count in match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)
