from dataclasses import dataclass, field


@dataclass
class Field:
    crop: str = ""  # "" if nothing grows there
    watered: bool = False


@dataclass
class Farm:
    name: str
    coins: int
    day: int
    fields: list[Field] = field(default_factory=list)
    weather: str = "sunny"
