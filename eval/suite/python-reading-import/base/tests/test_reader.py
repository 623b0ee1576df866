import tempfile
import unittest
from pathlib import Path

from intake.reader import FormatError, Reading, read_readings
from intake.store import Store


class ReaderTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.path = Path(self.dir.name) / "a.log"

    def test_reads(self):
        self.path.write_text("t1;100;20.5\n\nt2;100;19\n")
        readings = read_readings(self.path)
        self.assertEqual(readings, [Reading("t1", 100, 20.5), Reading("t2", 100, 19.0)])

    def test_malformed_line(self):
        self.path.write_text("t1;100;20.5\nt1;16")
        with self.assertRaises(FormatError):
            read_readings(self.path)

    def test_store_replaces(self):
        self.path.write_text("t1;100;20.5\nt1;100;21\n")
        store = Store(":memory:")
        store.add_all(read_readings(self.path))
        self.assertEqual(store.count(), 1)


if __name__ == "__main__":
    unittest.main()
