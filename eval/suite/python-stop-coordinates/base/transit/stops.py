"""The stops of the network."""

import csv
from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True)
class Stop:
    id: str
    name: str
    position: tuple[float, float]  # latitude, longitude


def load_stops(lines: Iterable[str]) -> list[Stop]:
    """Read stops from CSV with the columns id, name, lat and lon."""
    return [
        Stop(row["id"], row["name"], (float(row["lat"]), float(row["lon"])))
        for row in csv.DictReader(lines)
    ]
