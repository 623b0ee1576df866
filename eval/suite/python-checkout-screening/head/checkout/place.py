"""Placing an order: reserve the goods, charge the customer, queue the parcel."""

from checkout.order import Line, Order
from checkout.screening import Screening
from checkout.stock import OutOfStock, Stock


class PaymentFailed(Exception):
    """The payment provider refused; nothing was charged."""


class Checkout:
    def __init__(self, stock: Stock, payments, parcels, screening: Screening):
        self._stock = stock
        self._payments = payments
        self._parcels = parcels
        self._screening = screening

    def place(self, order: Order) -> str:
        """Place the order and return the payment's reference.

        Raises OutOfStock, OrderRefused or PaymentFailed; the stock is then as
        it was before.
        """
        # Reserve first: an order for something that is sold out should say so,
        # whatever the screening thinks of it.
        reserved = self._reserve(order)
        self._screening.require_ok(order)
        try:
            reference = self._payments.charge(order.customer, order.total_cents)
        except PaymentFailed:
            self._release(reserved)
            raise
        self._parcels.enqueue(order)
        return reference

    def _reserve(self, order: Order) -> list[Line]:
        reserved: list[Line] = []
        for line in order.lines:
            try:
                self._stock.reserve(line.sku, line.count)
            except OutOfStock:
                self._release(reserved)
                raise
            reserved.append(line)
        return reserved

    def _release(self, lines: list[Line]) -> None:
        for line in lines:
            self._stock.release(line.sku, line.count)
