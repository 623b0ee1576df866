"""Polls all stations, several at a time."""

from concurrent.futures import ThreadPoolExecutor

from gateway.pool import Pool, PoolTimeout


def poll_all(pool: Pool, stations: list[str], workers: int = 16) -> dict[str, bytes]:
    """Return the newest reading of each station that answered."""

    def poll(station: str) -> tuple[str, bytes | None]:
        try:
            with pool.connection(timeout=30) as conn:
                return station, conn.request(station)
        except (OSError, PoolTimeout):
            return station, None

    with ThreadPoolExecutor(workers) as executor:
        answers = list(executor.map(poll, stations))
    return {station: data for station, data in answers if data is not None}
