from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Invoice:
    number: str
    issued: date
    total_cents: int

    def __post_init__(self):
        if self.total_cents <= 0:
            raise ValueError("an invoice has a positive total; credits are separate")
