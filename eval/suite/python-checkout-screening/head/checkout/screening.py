"""Rules that hold an order back before the customer is charged."""

from typing import Callable

from checkout.order import Order

Rule = Callable[[Order], str | None]


class OrderRefused(Exception):
    """A screening rule does not let the order through."""


def total_above(limit_cents: int) -> Rule:
    def rule(order: Order) -> str | None:
        if order.total_cents > limit_cents:
            return f"total {order.total_cents} is above {limit_cents}"
        return None

    return rule


def too_many_of_one(limit: int) -> Rule:
    def rule(order: Order) -> str | None:
        pieces: dict[str, int] = {}
        for line in order.lines:
            pieces[line.sku] = pieces.get(line.sku, 0) + line.count
        for sku, count in pieces.items():
            if count > limit:
                return f"{count} pieces of {sku}, at most {limit} are sold at once"
        return None

    return rule


class Screening:
    def __init__(self, rules: list[Rule]):
        self._rules = list(rules)

    def require_ok(self, order: Order) -> None:
        """Raise OrderRefused with the first rule's reason."""
        for rule in self._rules:
            reason = rule(order)
            if reason is not None:
                raise OrderRefused(reason)
