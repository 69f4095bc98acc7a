"""Series of the Turing Change Point Dataset (TCPD) rebuilt from files of the package river.

TCPD may not redistribute apple and bitcoin, and does not know the licence of occupancy. river
0.26.1 has the data from which they are made. The rebuilt text is TCPD's own file, byte for byte:
its md5 is the one that TCPD prints. river gives TCPD's annotations with all its rows, but the
annotators saw only some of these: the first 774 of bitcoin, and a third of apple.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any, NamedTuple

SPLIT = "2000-06-21"
"""Day from which Apple's prices are those after its two-for-one split."""
LAST_OF_BITCOIN = "2019-06-19"


class _Table(NamedTuple):
    """Time, its format, and the columns of a series by label."""

    longname: str
    format: str
    time: list[str]
    columns: dict[str, list[float] | list[int]]


def apple(rows: list[dict[str, str]]) -> _Table:
    """Return close and volume of every third day, from the second day on."""
    kept = rows[1::3]
    close = [_unadjusted(float(row["Close"]), row["Date"]) for row in kept]
    volume = [int(row["Volume"]) for row in kept]
    time = [row["Date"] for row in kept]
    return _Table("Apple Stock", "%Y-%m-%d", time, {"Close": close, "Volume": volume})


def bitcoin(rows: list[dict[str, str]]) -> _Table:
    """Return the prices up to the day on which TCPD ends."""
    kept = [row for row in rows if row["date"] <= LAST_OF_BITCOIN]
    price = [float(row["price"]) for row in kept]
    time = [row["date"] for row in kept]
    return _Table("Bitcoin Price", "%Y-%m-%d", time, {"USD/Bitcoin": price})


def occupancy(rows: list[dict[str, str]]) -> _Table:
    """Return the four measurements of a room as they are."""
    columns = {name: [float(row[name]) for row in rows] for name in ("V1", "V2", "V3", "V4")}
    time = [row["time"] for row in rows]
    return _Table("Occupancy", "%Y-%m-%d %H:%M:%S", time, dict(columns))


TABLES: dict[str, Callable[[list[dict[str, str]]], _Table]] = {
    f"{table.__name__}.json": table for table in (apple, bitcoin, occupancy)
}


def rebuilt(file: str, content: bytes) -> bytes:
    """Return TCPD's file of this name from the content of river's CSV file."""
    rows = list(csv.DictReader(content.decode("utf-8").splitlines()))
    table = TABLES[file](rows)
    text = json.dumps(_form(file.removesuffix(".json"), table), indent="\t")
    return text.encode("utf-8")


def _form(name: str, table: _Table) -> dict[str, Any]:
    """Return the content of a file of TCPD."""
    times = {"type": "string", "format": table.format, "index": list(range(len(table.time)))}
    return {
        "name": name,
        "longname": table.longname,
        "n_obs": len(table.time),
        "n_dim": len(table.columns),
        "time": times | {"raw": table.time},
        "series": [
            {"label": label, "type": type(values[0]).__name__, "raw": values}
            for label, values in table.columns.items()
        ],
    }


def _unadjusted(close: float, day: str) -> float:
    """Return a price as TCPD has it, before a later split of the shares was divided out.

    river's prices were divided by 28 or 14, rounded, and multiplied again, which moved them by up
    to 2e-6. Prices of shares are multiples of a 64th or a hundredth: the nearer one is the price.
    """
    factor = 28 if day < SPLIT else 14
    price = factor * close
    ticks = (round(price * 64) / 64, round(price * 100) / 100)
    return round(min(ticks, key=lambda tick: abs(tick - price)) / factor, 6)
