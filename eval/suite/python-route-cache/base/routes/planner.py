from routes.cache import RouteCache


class Planner:
    def __init__(self, search, cache: RouteCache):
        self._search = search
        self._cache = cache

    def route(self, start: str, goal: str) -> tuple[str, ...]:
        """The shortest route; computed at most once while it is in the cache.

        Two threads may compute the same route at the same time. That costs a
        little and does no harm: both get the same result.
        """
        route = self._cache.get(start, goal)
        if route is None:
            route = tuple(self._search(start, goal))
            self._cache.put(start, goal, route)
        return route
