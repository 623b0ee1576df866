import unittest
from datetime import timedelta

from cli.duration import parse_duration


class ParseDurationTest(unittest.TestCase):
    def test_units(self):
        self.assertEqual(parse_duration("90s"), timedelta(seconds=90))
        self.assertEqual(parse_duration("15m"), timedelta(minutes=15))
        self.assertEqual(parse_duration("2h"), timedelta(hours=2))

    def test_empty(self):
        with self.assertRaises(ValueError):
            parse_duration("")

    def test_no_unit(self):
        with self.assertRaises(ValueError):
            parse_duration("15")

    def test_negative(self):
        with self.assertRaises(ValueError):
            parse_duration("-15m")

    def test_unknown_unit(self):
        with self.assertRaises(ValueError):
            parse_duration("2d")


if __name__ == "__main__":
    unittest.main()
