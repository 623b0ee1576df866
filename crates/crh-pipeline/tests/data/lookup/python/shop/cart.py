from shop.money import Money as Amount
from shop.money import logged, round_money


class Cart:
    def __init__(self, prices):
        self.prices = prices

    @logged
    def total(self) -> "Amount":
        """The total, see round_money."""
        total = Amount(0)
        for price in self.prices:
            total = total.add(price)
        return round_money(total)

    def show(self):
        return self.total().show()


class GiftCart(Cart):
    def total(self):
        return super().total().add(Amount(300))


def empty_cart() -> "Cart":
    return Cart([])
