import tempfile
import unittest
from pathlib import Path

from game.save import SaveError, load, save
from game.state import Farm


class SaveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "hill.json"

    def test_round_trip(self):
        farm = Farm("Hill", 120, 3, ["wheat", ""])
        save(farm, self.path)
        self.assertEqual(load(self.path), farm)

    def test_damaged(self):
        for text in ("", "[]", "{}", '{"version": 1}', '{"version": 1, "nam'):
            with self.subTest(text):
                self.path.write_text(text)
                with self.assertRaises(SaveError):
                    load(self.path)


if __name__ == "__main__":
    unittest.main()
