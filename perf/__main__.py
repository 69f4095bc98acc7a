"""Print one table: our costs beside those of what a user would take instead.

    make perf ARGS="--only steps --pairs 5"

It takes about 12 minutes on a quiet machine. Both sides run in separate processes, theirs in
.venv-perf. Each side is warmed up by a round that does not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import psutil

from perf import table
from perf.comparisons import ALL, GROUPS
from perf.driver import Measured, measure


def main() -> None:
    """Print a line after each comparison, and then the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="WORDS",
        help=f"a group ({', '.join(GROUPS)}), or words that the part has",
    )  # fmt: skip
    parser.add_argument("--pairs", type=int, default=5, help="rounds of each side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rounds there")
    asked = parser.parse_args()
    chosen = [
        one for one in ALL
        if any(words == one.group or words.lower() in one.part.lower() for words in asked.only)
    ]  # fmt: skip
    if not chosen:
        parser.error(f"no part has these words: {' '.join(asked.only)}")
    about, found, failed = table.machine(psutil.getloadavg()), [], []
    for comparison in chosen:
        try:
            found.append(measure(comparison, asked.pairs))
        except RuntimeError as error:
            failed.append(f"{comparison.part}: {error}")
            print(failed[-1], file=sys.stderr, flush=True)
            continue
        for row in table.rows(found[-1]):
            print(" | ".join(row), file=sys.stderr, flush=True)
        if asked.json:
            asked.json.write_text(json.dumps(_all_rounds(found, about), indent=1))
    print(*table.lines(found, about, asked.pairs), sep="\n")
    sys.exit(bool(failed))


def _all_rounds(found: list[Measured], about: dict) -> dict:
    """Return everything that was measured."""
    parts = [
        {
            "group": one.comparison.group,
            "part": one.comparison.part,
            "unit": one.comparison.unit,
            "ours": one.ours._asdict(),
            "theirs": [peer._asdict() for peer in one.theirs],
            "limit": one.limit and one.limit._asdict(),
            "apart": one.apart,
        }
        for one in found
    ]
    return {"machine": about, "parts": parts}


if __name__ == "__main__":
    main()
