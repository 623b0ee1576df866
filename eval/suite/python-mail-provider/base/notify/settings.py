"""Settings of the notifier. Values that differ per deployment come from the environment."""

import os

SENDER = "bookings@example.org"
SMTP_HOST = os.environ.get("NOTIFY_SMTP_HOST", "localhost")
SMTP_PORT = int(os.environ.get("NOTIFY_SMTP_PORT", "25"))
TIMEOUT_SECONDS = 10
