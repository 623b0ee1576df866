import unittest

from routes.cache import RouteCache


class RouteCacheTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0
        self.cache = RouteCache(lifetime=10, capacity=2, clock=lambda: self.now)

    def test_hit(self):
        self.cache.put("a", "c", ("a", "b", "c"))
        self.assertEqual(self.cache.get("a", "c"), ("a", "b", "c"))
        self.assertIsNone(self.cache.get("c", "a"))

    def test_expires(self):
        self.cache.put("a", "c", ("a", "c"))
        self.now = 10.5
        self.assertIsNone(self.cache.get("a", "c"))

    def test_still_there_at_the_end_of_its_lifetime(self):
        self.cache.put("a", "c", ("a", "c"))
        self.now = 10.0
        self.assertEqual(self.cache.get("a", "c"), ("a", "c"))

    def test_oldest_makes_room(self):
        self.cache.put("a", "b", ("a", "b"))
        self.cache.put("a", "c", ("a", "c"))
        self.cache.put("a", "d", ("a", "d"))
        self.assertIsNone(self.cache.get("a", "b"))
        self.assertIsNotNone(self.cache.get("a", "c"))
        self.assertIsNotNone(self.cache.get("a", "d"))

    def test_storing_again_makes_it_the_youngest(self):
        self.cache.put("a", "b", ("a", "b"))
        self.now = 1.0
        self.cache.put("a", "c", ("a", "c"))
        self.now = 2.0
        self.cache.put("a", "b", ("a", "x", "b"))
        self.now = 3.0
        self.cache.put("a", "d", ("a", "d"))
        self.assertEqual(self.cache.get("a", "b"), ("a", "x", "b"))
        self.assertIsNone(self.cache.get("a", "c"))


if __name__ == "__main__":
    unittest.main()
