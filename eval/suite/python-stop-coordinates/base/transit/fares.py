"""Fare zones are rectangles; a stop belongs to the first zone that contains it."""

from dataclasses import dataclass

from transit.stops import Stop


@dataclass(frozen=True)
class Zone:
    name: str
    south: float
    west: float
    north: float
    east: float

    def contains(self, position: tuple[float, float]) -> bool:
        lat, lon = position
        return self.south <= lat < self.north and self.west <= lon < self.east


def zone_of(stop: Stop, zones: list[Zone]) -> Zone | None:
    for zone in zones:
        if zone.contains(stop.position):
            return zone
    return None
