"""Amounts of money. Use Money and round_money."""


class Money:
    def __init__(self, cents):
        self.cents = cents

    def add(self, other):
        """add does not change the amount."""
        return Money(self.cents + other.cents)

    def show(self):
        return f"{self.cents / 100:.2f}"


def round_money(amount):
    # round_money keeps whole cents.
    return Money(round(amount.cents))


def logged(function):
    def call(*arguments):
        print(function)
        return function(*arguments)

    return call
