import unittest

from routes.cache import RouteCache


class RouteCacheTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0
        self.cache = RouteCache(lifetime=10, clock=lambda: self.now)

    def test_hit(self):
        self.cache.put("a", "c", ("a", "b", "c"))
        self.assertEqual(self.cache.get("a", "c"), ("a", "b", "c"))
        self.assertIsNone(self.cache.get("c", "a"))

    def test_expires(self):
        self.cache.put("a", "c", ("a", "c"))
        self.now = 10.5
        self.assertIsNone(self.cache.get("a", "c"))


if __name__ == "__main__":
    unittest.main()
