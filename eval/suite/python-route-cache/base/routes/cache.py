"""Keeps computed routes; shared by the worker threads of the planner."""

import threading
import time
from typing import Callable


class RouteCache:
    def __init__(self, lifetime: float, clock: Callable[[], float] = time.monotonic):
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str], tuple[float, tuple[str, ...]]] = {}

    def get(self, start: str, goal: str) -> tuple[str, ...] | None:
        with self._lock:
            entry = self._entries.get((start, goal))
            if entry is None:
                return None
            stored, route = entry
            if self._clock() - stored > self._lifetime:
                del self._entries[start, goal]
                return None
            return route

    def put(self, start: str, goal: str, route: tuple[str, ...]) -> None:
        with self._lock:
            self._entries[start, goal] = (self._clock(), route)
