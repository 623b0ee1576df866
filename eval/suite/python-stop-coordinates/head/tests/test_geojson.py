import unittest

from transit.distance import metres_between
from transit.geojson import feature_collection
from transit.stops import load_stops

CSV = ["id,name,lat,lon", "a,Harbour,54.30,10.10", "b,Museum,54.31,10.10"]


class GeojsonTest(unittest.TestCase):
    def test_longitude_comes_first(self):
        point = feature_collection(load_stops(CSV))["features"][0]["geometry"]
        self.assertEqual(point, {"type": "Point", "coordinates": [10.10, 54.30]})

    def test_distance(self):
        a, b = load_stops(CSV)
        self.assertAlmostEqual(metres_between(a.position, b.position), 1112, delta=1)

    def test_line(self):
        features = feature_collection(load_stops(CSV), line=True)["features"]
        way = features[2]
        self.assertEqual(way["geometry"]["coordinates"], [[10.10, 54.30], [10.10, 54.31]])
        self.assertEqual(way["properties"], {"metres": 1112})

    def test_single_stop_has_no_line(self):
        features = feature_collection(load_stops(CSV[:2]), line=True)["features"]
        self.assertEqual(len(features), 1)


if __name__ == "__main__":
    unittest.main()
