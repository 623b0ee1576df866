import unittest
from datetime import date

from billing.invoice import Invoice
from billing.plan import MAX_INSTALMENTS, Due, schedule


class ScheduleTest(unittest.TestCase):
    def test_one_payment(self):
        invoice = Invoice("R-9", date(2024, 1, 31), 10_000)
        self.assertEqual(schedule(invoice), [Due(date(2024, 2, 14), 10_000)])

    def test_left_over_cents_come_first(self):
        invoice = Invoice("R-9", date(2024, 11, 1), 10_001)
        self.assertEqual(
            schedule(invoice, 3),
            [
                Due(date(2024, 11, 15), 3334),
                Due(date(2024, 12, 15), 3334),
                Due(date(2025, 1, 15), 3333),
            ],
        )

    def test_sum_is_the_total(self):
        for total in (24, 25, 9_999, 123_457):
            invoice = Invoice("R-9", date(2024, 3, 1), total)
            for count in range(1, MAX_INSTALMENTS + 1):
                with self.subTest(total=total, count=count):
                    cents = [due.cents for due in schedule(invoice, count)]
                    self.assertEqual(sum(cents), total)
                    self.assertLessEqual(max(cents) - min(cents), 1)

    def test_short_months(self):
        invoice = Invoice("R-9", date(2024, 12, 17), 400)
        days = [due.on for due in schedule(invoice, 4)]
        self.assertEqual(
            days,
            [date(2024, 12, 31), date(2025, 1, 31), date(2025, 2, 28), date(2025, 3, 31)],
        )

    def test_refuses(self):
        invoice = Invoice("R-9", date(2024, 3, 1), 2)
        for count in (0, -1, 3, MAX_INSTALMENTS + 1):
            with self.subTest(count):
                with self.assertRaises(ValueError):
                    schedule(invoice, count)


if __name__ == "__main__":
    unittest.main()
