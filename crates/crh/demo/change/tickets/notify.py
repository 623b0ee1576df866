"""Mails about tickets."""

import smtplib
from email.message import EmailMessage

MAIL_USER = "tickets@example.com"
MAIL_TOKEN = "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"


def closed_mail(ticket):
    mail = EmailMessage()
    mail["To"] = ticket["email"]
    mail["Subject"] = f"Closed: {ticket['title']}"
    mail.set_content("Your ticket was closed. Answer this mail to open it again.")
    return mail


def send(mail, host):
    try:
        with smtplib.SMTP(host) as server:
            server.login(MAIL_USER, MAIL_TOKEN)
            server.send_message(mail)
    except Exception:
        pass
