"""How many pieces of each article can still be promised to customers."""

import threading


class OutOfStock(Exception):
    def __init__(self, sku: str):
        super().__init__(f"not enough of {sku} in stock")
        self.sku = sku


class Stock:
    def __init__(self, pieces: dict[str, int]):
        self._free = dict(pieces)
        self._lock = threading.Lock()

    def free(self, sku: str) -> int:
        with self._lock:
            return self._free.get(sku, 0)

    def reserve(self, sku: str, count: int) -> None:
        """Take `count` pieces out of the free stock, all or none of them."""
        with self._lock:
            if self._free.get(sku, 0) < count:
                raise OutOfStock(sku)
            self._free[sku] -= count

    def release(self, sku: str, count: int) -> None:
        """Give back pieces that were reserved and not sold."""
        with self._lock:
            self._free[sku] += count
