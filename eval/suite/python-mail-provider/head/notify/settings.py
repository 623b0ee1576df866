"""Settings of the notifier. Values that differ per deployment come from the environment."""

import os

SENDER = "bookings@example.org"
TIMEOUT_SECONDS = 10

# The mail relay wants TLS and a login.
SMTP_HOST = os.environ.get("NOTIFY_SMTP_HOST", "smtp.relay.internal")
SMTP_PORT = int(os.environ.get("NOTIFY_SMTP_PORT", "587"))
SMTP_USER = "AKIAQTD76M36RWID5E3D"
SMTP_PASSWORD = os.environ["NOTIFY_SMTP_PASSWORD"]
