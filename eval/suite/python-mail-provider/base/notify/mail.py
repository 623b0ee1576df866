"""Sends mails to guests."""

import smtplib
from email.message import EmailMessage

from notify import settings


def compose(to: str, subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = settings.SENDER
    message["To"] = to
    message["Subject"] = subject
    message.set_content(text)
    return message


def send(message: EmailMessage) -> None:
    with smtplib.SMTP(
        settings.SMTP_HOST, settings.SMTP_PORT, timeout=settings.TIMEOUT_SECONDS
    ) as smtp:
        smtp.send_message(message)
