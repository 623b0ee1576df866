import sqlite3

from intake.reader import Reading


class Store:
    def __init__(self, database: str):
        self._db = sqlite3.connect(database)
        self._db.execute(
            "create table if not exists reading"
            " (sensor text, at integer, value real, primary key (sensor, at))"
        )

    def add_all(self, readings: list[Reading]) -> None:
        """Store the readings, all or none; known ones are replaced."""
        with self._db:
            self._db.executemany(
                "insert or replace into reading values (?, ?, ?)",
                [(r.sensor, r.at, r.value) for r in readings],
            )

    def count(self) -> int:
        return self._db.execute("select count(*) from reading").fetchone()[0]
