from math import asin, cos, radians, sin, sqrt

EARTH_RADIUS_M = 6_371_000


def metres_between(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Great-circle distance of two positions."""
    lon_a, lat_a = map(radians, a)
    lon_b, lat_b = map(radians, b)
    h = (
        sin((lat_b - lat_a) / 2) ** 2
        + cos(lat_a) * cos(lat_b) * sin((lon_b - lon_a) / 2) ** 2
    )
    return 2 * EARTH_RADIUS_M * asin(sqrt(h))
