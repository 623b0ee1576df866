"""Mails about tickets."""

import smtplib
from email.message import EmailMessage


def closed_mail(ticket):
    mail = EmailMessage()
    mail["To"] = ticket["email"]
    mail["Subject"] = f"Closed: {ticket['title']}"
    mail.set_content("Your ticket was closed. Answer this mail to open it again.")
    return mail


def send(mail, host):
    with smtplib.SMTP(host) as server:
        server.send_message(mail)
