"""Export for the web map."""

from itertools import pairwise

from transit.distance import metres_between
from transit.stops import Stop


def feature_collection(stops: list[Stop], line: bool = False) -> dict:
    """The stops as points and, with `line`, the way along them in this order."""
    features = [
        {
            "type": "Feature",
            "id": stop.id,
            "geometry": {"type": "Point", "coordinates": list(stop.position)},
            "properties": {"name": stop.name},
        }
        for stop in stops
    ]
    if line and len(stops) > 1:
        features.append(
            {
                "type": "Feature",
                "geometry": {
                    "type": "LineString",
                    "coordinates": [list(stop.position) for stop in stops],
                },
                "properties": {"metres": round(length(stops))},
            }
        )
    return {"type": "FeatureCollection", "features": features}


def length(stops: list[Stop]) -> float:
    """The sum of the distances from each stop to the next."""
    return sum(metres_between(a.position, b.position) for a, b in pairwise(stops))
