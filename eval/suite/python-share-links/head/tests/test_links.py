import unittest

from files.download import serve_shared
from files.links import LinkError, LinkSigner


class LinkSignerTest(unittest.TestCase):
    def setUp(self):
        self.now = 1_700_000_000
        self.signer = LinkSigner(b"test key", clock=lambda: self.now)

    def test_round_trip(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60)
        grant = self.signer.check(url)
        self.assertEqual(grant.path, "/reports/q3.pdf")
        self.assertIsNone(grant.preview_bytes)

    def test_expires(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60)
        self.now += 61
        with self.assertRaises(LinkError):
            self.signer.check(url)

    def test_other_path_is_refused(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60)
        with self.assertRaises(LinkError):
            self.signer.check(url.replace("q3", "q4"))

    def test_longer_preview_is_refused(self):
        url = self.signer.make("/reports/q3.pdf", lifetime=60, preview_bytes=20)
        with self.assertRaises(LinkError):
            self.signer.check(url.replace("n=20", "n=90"))


class Storage:
    def read(self, path):
        return path.encode()


class ServeSharedTest(unittest.TestCase):
    def test_preview_is_cut(self):
        signer = LinkSigner(b"test key", clock=lambda: 1_700_000_000)
        url = signer.make("/reports/q3.pdf", lifetime=60, preview_bytes=4)
        self.assertEqual(serve_shared(url, signer, Storage()), (200, b"/rep"))

    def test_whole_file_without_preview(self):
        signer = LinkSigner(b"test key", clock=lambda: 1_700_000_000)
        url = signer.make("/reports/q3.pdf", lifetime=60)
        self.assertEqual(serve_shared(url, signer, Storage()), (200, b"/reports/q3.pdf"))


if __name__ == "__main__":
    unittest.main()
