"""A bounded pool of connections to the measuring stations' gateway.

The gateway accepts only a fixed number of connections per client and drops
the client for ten minutes if it opens more, so `size` is a hard limit.
"""

import threading
from contextlib import contextmanager
from typing import Callable, Iterator


class PoolTimeout(Exception):
    """No connection became free in time."""


class Pool:
    def __init__(self, connect: Callable[[], object], size: int):
        if size < 1:
            raise ValueError("size must be at least 1")
        self._connect = connect
        self._size = size
        self._idle: list[object] = []
        self._open = 0  # idle ones and those in use
        self._cond = threading.Condition()

    def _may_proceed(self) -> bool:
        return bool(self._idle) or self._open < self._size

    def _acquire(self, timeout: float | None) -> object:
        with self._cond:
            if not self._cond.wait_for(self._may_proceed, timeout):
                raise PoolTimeout(f"no connection within {timeout} s")
            if self._idle:
                return self._idle.pop()
            conn = self._connect()
            self._open += 1
            return conn

    def _release(self, conn: object, broken: bool) -> None:
        try:
            if broken:
                conn.close()
        finally:
            with self._cond:
                if broken:
                    self._open -= 1
                else:
                    self._idle.append(conn)
                self._cond.notify()

    @contextmanager
    def connection(self, timeout: float | None = None) -> Iterator[object]:
        """Lend a connection; one whose use raised OSError is not used again."""
        conn = self._acquire(timeout)
        broken = False
        try:
            yield conn
        except OSError:
            broken = True
            raise
        finally:
            self._release(conn, broken)
