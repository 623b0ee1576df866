"""One pass over the inbox; started by a timer every five minutes."""

import logging
from pathlib import Path

from intake.reader import FormatError, read_readings
from intake.store import Store

log = logging.getLogger(__name__)


def import_inbox(inbox: Path, done: Path, rejected: Path, store: Store) -> int:
    """Import every file of the inbox and return how many were accepted.

    A file that cannot be read goes to `rejected`, where the operators look at
    it; the others are imported all the same.
    """
    accepted = 0
    for path in sorted(inbox.glob("*.log")):
        try:
            readings = read_readings(path)
        except FormatError as exc:
            log.warning("rejected: %s", exc)
            path.rename(rejected / path.name)
            continue
        store.add_all(readings)
        path.rename(done / path.name)
        accepted += 1
    return accepted
