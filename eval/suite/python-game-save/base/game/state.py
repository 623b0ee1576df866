from dataclasses import dataclass, field


@dataclass
class Farm:
    name: str
    coins: int
    day: int
    fields: list[str] = field(default_factory=list)  # the crop on each, "" if empty
