import tempfile
import unittest
from pathlib import Path

from game.save import SaveError, load, save
from game.state import Farm, Field


class SaveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "hill.json"

    def test_round_trip(self):
        farm = Farm("Hill", 120, 3, [Field("wheat", True), Field()], "rain")
        save(farm, self.path)
        self.assertEqual(load(self.path), farm)

    def test_version_1(self):
        self.path.write_text(
            '{"version": 1, "name": "Hill", "coins": 120, "day": 3,'
            ' "fields": ["wheat", ""]}'
        )
        self.assertEqual(
            load(self.path), Farm("Hill", 120, 3, [Field("wheat"), Field()], "sunny")
        )

    def test_later_version(self):
        self.path.write_text('{"version": 3, "name": "Hill"}')
        with self.assertRaisesRegex(SaveError, "unknown version 3"):
            load(self.path)

    def test_damaged(self):
        damaged = ("", "[]", "{}", '{"version": 1}', '{"version": 2, "fields": [7]}')
        for text in (*damaged, '{"version": 1, "nam'):
            with self.subTest(text):
                self.path.write_text(text)
                with self.assertRaises(SaveError):
                    load(self.path)


if __name__ == "__main__":
    unittest.main()
