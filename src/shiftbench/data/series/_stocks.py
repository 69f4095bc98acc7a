"""Daily log returns of AAPL, IBM and MSFT, in per cent, 2 March 2000 to 1 March 2013.

From adjusted closes, which have no jumps at splits and dividends. A log return uses the day and
the day before, and nothing later.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

from shiftbench.data.series._series_store import Series
from shiftbench.data.store import raw as raw_files

FILE = "stocks.csv.gz"
TICKERS = ("AAPL", "IBM", "MSFT")
DAYS = 3270


def read(raw: Path) -> Series:
    """Read the returns [3269, 3]. UserError if the file is missing or wrong."""
    path = raw / FILE
    if not path.is_file():
        raise raw_files.missing(path)
    closes: dict[str, dict[str, float]] = {ticker: {} for ticker in TICKERS}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["Ticker"] in closes:
                closes[row["Ticker"]][row["Date"]] = float(row["Adj Close"])
    days = list(closes[TICKERS[0]])
    if any(list(of_ticker) != days for of_ticker in closes.values()) or len(days) != DAYS:
        raise raw_files.wrong(path, f"it should have {DAYS} equal days for each of {TICKERS}")
    price = np.array([[closes[ticker][day] for ticker in TICKERS] for day in days])
    return Series(
        100 * np.diff(np.log(price), axis=0)[None],
        time=np.array(days[1:]),
        names=TICKERS,
        units="%",
        truth="unknown",
        changes=[],
    )
