"""Keeps computed routes; shared by the worker threads of the planner."""

import threading
import time
from collections import OrderedDict
from typing import Callable


class RouteCache:
    """At most `capacity` routes, each for at most `lifetime` seconds.

    The entries are in the order in which they were stored, so the oldest one
    is always the first.
    """

    def __init__(
        self,
        lifetime: float,
        capacity: int = 10_000,
        *,
        clock: Callable[[], float] = time.monotonic,
    ):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._lifetime = lifetime
        self._capacity = capacity
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[
            tuple[str, str], tuple[float, tuple[str, ...]]
        ] = OrderedDict()

    def get(self, start: str, goal: str) -> tuple[str, ...] | None:
        with self._lock:
            self._drop_expired()
            entry = self._entries.get((start, goal))
            return None if entry is None else entry[1]

    def put(self, start: str, goal: str, route: tuple[str, ...]) -> None:
        with self._lock:
            self._drop_expired()
            self._entries[start, goal] = (self._clock(), route)
            # An entry that was there already is still at its old place.
            self._entries.move_to_end((start, goal))
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)

    def _drop_expired(self) -> None:
        """Caller holds the lock."""
        oldest_kept = self._clock() - self._lifetime
        while self._entries:
            key = next(iter(self._entries))
            if self._entries[key][0] >= oldest_kept:
                break
            self._entries.popitem(last=False)
