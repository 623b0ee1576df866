import threading
import unittest

from gateway.pool import Pool, PoolTimeout


class Conn:
    closed = False

    def close(self):
        self.closed = True


class PoolTest(unittest.TestCase):
    def test_reuses(self):
        pool = Pool(Conn, 2)
        with pool.connection() as first:
            pass
        with pool.connection() as second:
            self.assertIs(second, first)

    def test_limit(self):
        pool = Pool(Conn, 1)
        with pool.connection():
            with self.assertRaises(PoolTimeout):
                with pool.connection(timeout=0.01):
                    pass

    def test_broken_is_closed_and_replaced(self):
        pool = Pool(Conn, 1)
        with self.assertRaises(OSError):
            with pool.connection() as first:
                raise OSError("reset")
        self.assertTrue(first.closed)
        with pool.connection(timeout=1) as second:
            self.assertIsNot(second, first)

    def test_slow_handshake_does_not_hold_up_others(self):
        handshake = threading.Event()
        started = threading.Event()

        def slow():
            started.set()
            if not handshake.wait(5):
                raise OSError("handshake timed out")
            return Conn()

        pool = Pool(Conn, 2)
        with pool.connection():
            pool._connect = slow
            other = threading.Thread(target=lambda: pool.connection().__enter__())
            other.start()
            started.wait(5)
        with pool.connection(timeout=1):  # the one given back above
            pass
        handshake.set()
        other.join()


if __name__ == "__main__":
    unittest.main()
