"""The text of the small plate on each stop's pole."""

from transit.stops import Stop


def plate(stop: Stop) -> str:
    lat, lon = stop.position
    north_south = "N" if lat >= 0 else "S"
    east_west = "E" if lon >= 0 else "W"
    return f"{stop.name}\n{abs(lat):.5f} {north_south}, {abs(lon):.5f} {east_west}"
