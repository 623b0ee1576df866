import unittest
from datetime import timedelta
from zoneinfo import ZoneInfo

from roster.payroll import monthly_hours, paid_time, starts_at_night
from roster.shift import parse_shift

ZONE = ZoneInfo("Europe/Berlin")


def shift(start, end):
    return parse_shift({"employee": "e4", "from": start, "to": end}, ZONE)


class PayrollTest(unittest.TestCase):
    def test_break_is_not_paid(self):
        day = shift("2024-06-03 08:00", "2024-06-03 16:30")
        self.assertEqual(paid_time(day), timedelta(hours=8))

    def test_short_shift_has_no_break(self):
        day = shift("2024-06-03 08:00", "2024-06-03 12:00")
        self.assertEqual(monthly_hours([day, day]), {"e4": 8.0})

    def test_night(self):
        self.assertTrue(starts_at_night(shift("2024-06-03 22:00", "2024-06-04 02:00"), ZONE))
        self.assertFalse(starts_at_night(shift("2024-06-03 06:00", "2024-06-03 10:00"), ZONE))


if __name__ == "__main__":
    unittest.main()
