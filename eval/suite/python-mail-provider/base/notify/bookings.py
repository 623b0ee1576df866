"""The mails of the booking process."""

from notify import mail


def confirm(guest: str, room: str, nights: int) -> None:
    unit = "night" if nights == 1 else "nights"
    mail.send(
        mail.compose(
            guest,
            f"Your booking of {room}",
            f"We have booked {room} for {nights} {unit}.\n",
        )
    )
