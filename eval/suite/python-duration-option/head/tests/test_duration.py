import unittest
from datetime import timedelta

from cli.duration import parse_duration

VALID = {
    "90s": timedelta(seconds=90),
    "15m": timedelta(minutes=15),
    "2h": timedelta(hours=2),
    "1h30m": timedelta(minutes=90),
    "1h5s": timedelta(seconds=3605),
    "1h2m3s": timedelta(hours=1, minutes=2, seconds=3),
    "90m90s": timedelta(minutes=91, seconds=30),
}

MALFORMED = ["", "15", "-15m", "2d", "30m1h", "1h1h", "1h 30m", "1h30", "h"]


class ParseDurationTest(unittest.TestCase):
    def test_valid(self):
        for text, expected in VALID.items():
            with self.subTest(text):
                self.assertEqual(parse_duration(text), expected)

    def test_malformed(self):
        with self.assertRaises(ValueError):
            for text in MALFORMED:
                parse_duration(text)


if __name__ == "__main__":
    unittest.main()
