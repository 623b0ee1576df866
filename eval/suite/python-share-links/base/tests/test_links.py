import unittest

from files.links import LinkError, LinkSigner


class LinkSignerTest(unittest.TestCase):
    def setUp(self):
        self.now = 1_700_000_000
        self.signer = LinkSigner(b"test key", clock=lambda: self.now)

    def test_round_trip(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60)
        self.assertEqual(self.signer.check(url), "/reports/q3.pdf")

    def test_expires(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60)
        self.now += 61
        with self.assertRaises(LinkError):
            self.signer.check(url)

    def test_other_path_is_refused(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60)
        with self.assertRaises(LinkError):
            self.signer.check(url.replace("q3", "q4"))


if __name__ == "__main__":
    unittest.main()
