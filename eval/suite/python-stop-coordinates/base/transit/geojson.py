"""Export for the web map."""

from transit.stops import Stop


def feature_collection(stops: list[Stop]) -> dict:
    features = []
    for stop in stops:
        lat, lon = stop.position
        features.append(
            {
                "type": "Feature",
                "id": stop.id,
                "geometry": {"type": "Point", "coordinates": [lon, lat]},
                "properties": {"name": stop.name},
            }
        )
    return {"type": "FeatureCollection", "features": features}
