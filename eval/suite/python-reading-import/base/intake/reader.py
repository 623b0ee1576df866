"""Reads the files that the data loggers upload."""

from dataclasses import dataclass
from pathlib import Path


class FormatError(Exception):
    """The file is not one a logger writes, or it was cut off."""


@dataclass(frozen=True)
class Reading:
    sensor: str
    at: int  # seconds since 1970
    value: float


def _parse(line: str, where: str) -> Reading:
    try:
        sensor, at, value = line.split(";")
        return Reading(sensor, int(at), float(value))
    except ValueError as exc:
        raise FormatError(f"{where}: {exc}") from exc


def read_readings(path: Path) -> list[Reading]:
    """Return all readings of a file; FormatError if any line is malformed."""
    readings = []
    with path.open(encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                readings.append(_parse(line.rstrip("\n"), f"{path.name}:{number}"))
    return readings
