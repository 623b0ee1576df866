import unittest
from datetime import date

from billing.invoice import Invoice
from billing.plan import Due, schedule


class ScheduleTest(unittest.TestCase):
    def test_one_payment(self):
        invoice = Invoice("R-9", date(2024, 1, 31), 10_000)
        self.assertEqual(schedule(invoice), [Due(date(2024, 2, 14), 10_000)])


if __name__ == "__main__":
    unittest.main()
