"""Saved games: one JSON file per farm."""

import json
from dataclasses import asdict
from pathlib import Path

from game.state import Farm

VERSION = 1


class SaveError(Exception):
    """The file is not a saved game that this version can read."""


def save(farm: Farm, path: Path) -> None:
    document = {"version": VERSION, **asdict(farm)}
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(document), encoding="utf-8")
    scratch.replace(path)


def load(path: Path) -> Farm:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version = document.pop("version")
        if version != VERSION:
            raise SaveError(f"{path.name}: unknown version {version}")
        return Farm(**document)
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise SaveError(f"{path.name}: damaged") from exc
