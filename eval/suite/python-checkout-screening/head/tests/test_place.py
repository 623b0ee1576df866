import unittest

from checkout.order import Line, Order
from checkout.place import Checkout, PaymentFailed
from checkout.screening import OrderRefused, Screening, too_many_of_one, total_above
from checkout.stock import OutOfStock, Stock


class Payments:
    def __init__(self, fails=False):
        self.fails = fails

    def charge(self, customer, cents):
        if self.fails:
            raise PaymentFailed()
        return f"{customer}:{cents}"


def order(*lines):
    return Order("A-1", "c17", tuple(Line(sku, n, 250) for sku, n in lines))


class Parcels(list):
    enqueue = list.append


class PlaceTest(unittest.TestCase):
    def setUp(self):
        self.stock = Stock({"mug": 5, "lid": 1})
        self.parcels = Parcels()
        self.screening = Screening([total_above(2_000), too_many_of_one(3)])

    def test_places(self):
        checkout = Checkout(self.stock, Payments(), self.parcels, self.screening)
        self.assertEqual(checkout.place(order(("mug", 2))), "c17:500")
        self.assertEqual(self.stock.free("mug"), 3)
        self.assertEqual(len(self.parcels), 1)

    def test_second_line_out_of_stock(self):
        checkout = Checkout(self.stock, Payments(), self.parcels, self.screening)
        with self.assertRaises(OutOfStock):
            checkout.place(order(("mug", 2), ("lid", 2)))
        self.assertEqual(self.stock.free("mug"), 5)

    def test_payment_fails(self):
        checkout = Checkout(self.stock, Payments(fails=True), self.parcels, self.screening)
        with self.assertRaises(PaymentFailed):
            checkout.place(order(("mug", 2)))
        self.assertEqual(self.stock.free("mug"), 5)

    def test_refused_order_is_not_charged(self):
        payments = Payments()
        payments.charge = lambda *_: self.fail("charged")
        checkout = Checkout(self.stock, payments, self.parcels, self.screening)
        with self.assertRaises(OrderRefused):
            checkout.place(order(("mug", 2), ("mug", 2)))
        self.assertEqual(self.parcels, [])

    def test_sold_out_comes_before_screening(self):
        checkout = Checkout(self.stock, Payments(), self.parcels, self.screening)
        with self.assertRaises(OutOfStock):
            checkout.place(order(("lid", 9)))


if __name__ == "__main__":
    unittest.main()
