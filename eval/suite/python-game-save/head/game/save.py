"""Saved games: one JSON file per farm.

Version 1: `fields` is a list of crop names, there is no weather.
Version 2: `fields` is a list of objects with `crop` and `watered`.
"""

import json
from dataclasses import asdict
from pathlib import Path

from game.state import Farm, Field

VERSION = 2


class SaveError(Exception):
    """The file is not a saved game that this version can read."""


def save(farm: Farm, path: Path) -> None:
    document = {"version": VERSION, **asdict(farm)}
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(document), encoding="utf-8")
    scratch.replace(path)


def _from_version_1(document: dict) -> dict:
    fields = [{"crop": crop, "watered": False} for crop in document["fields"]]
    return {**document, "fields": fields, "weather": "sunny"}


# From each old version to the next one; load() applies them in turn.
_UPGRADES = {1: _from_version_1}


def load(path: Path) -> Farm:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version = document.pop("version")
        while version in _UPGRADES:
            document = _UPGRADES[version](document)
            version += 1
        if version != VERSION:
            raise SaveError(f"{path.name}: unknown version {version}")
        fields = [Field(**record) for record in document.pop("fields")]
        return Farm(**document, fields=fields)
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise SaveError(f"{path.name}: damaged") from exc
