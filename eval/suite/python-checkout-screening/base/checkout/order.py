from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    sku: str
    count: int
    unit_cents: int


@dataclass(frozen=True)
class Order:
    number: str
    customer: str
    lines: tuple[Line, ...]

    @property
    def total_cents(self) -> int:
        return sum(line.count * line.unit_cents for line in self.lines)
