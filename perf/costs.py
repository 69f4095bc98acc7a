"""Measure what a step or a row of each method costs, in one process, in turn with Adam.

    make perf-costs ARGS="--rounds 5"

Needs a quiet machine. Writes src/shiftbench/config/method_costs.yaml, which `shiftbench show` and
the site read, and the tables of perf/table.md. --only METHOD ... measures some and keeps the rest.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import psutil
import yaml

from perf.driver import ONE_THREAD, ROOT, ratio
from perf.table import machine, seconds
from shiftbench.config import method_costs
from shiftbench.config.method_costs import FILE, Costs, Step, digits

TABLE = ROOT / "perf/table.md"
BEGIN, END = "<!-- methods: begin -->\n", "<!-- methods: end -->\n"
SLOW = 0.05
"""Seconds per step above which a round has fewer steps."""
FEW_ROWS, SECONDS_OF_ROWS = 50, 0.5
"""The rows of a first try, and the seconds that a round of rows should take."""
REASONS = {
    "joint": "trains as Adam does, on more rows with every task",
    "laplace-last": "trains as Adam does; what it adds is done at the end of a task, in 0.3 s",
    "robust-fpop": "looks at all values so far again",
    **dict.fromkeys(
        ("gradients-gaussian", "gradients-radial", "gradients-truncated"), "is not trained"
    ),
    **dict.fromkeys(
        ("beta-closeness", "gibbs", "robust-linear-regression-exact"),
        "draws or integrates again after each row; a reference, not for streams",
    ),
    **dict.fromkeys(
        ("diffusion-words", "independent-words", "vbs-words", "vcl-words", "vgs-words"),
        "fits a word until it has converged, so the text decides",
    ),
}
"""Reasons why methods with a pipeline are not measured."""
HEADER = (
    "# What methods cost, in microseconds. `make perf-costs` writes this file; do not edit it.\n"
)


def main() -> None:
    """Print a line for each method, then write the file and the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each method")
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="the others keep their costs")
    parser.add_argument("--tables", action="store_true", help="write the tables alone")
    asked = parser.parse_args()
    failed = []
    if not asked.tables:
        load = psutil.getloadavg()
        # before the import of NumPy and TensorFlow, which read them
        os.environ.update(ONE_THREAD)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        steps, rows, failed = _measured(asked.only or measurable(), asked.rounds)
        before = method_costs.measured() if asked.only else Costs("", {}, {}, {})
        _write(Costs(_how(asked.rounds, asked.only, load, before.how),
                     {**before.steps, **steps}, {**before.rows, **rows}, REASONS))  # fmt: skip
    text = TABLE.read_text()
    start, _, rest = text.partition(BEGIN)
    costs = method_costs.parsed(yaml.safe_load(FILE.read_text()))
    TABLE.write_text(f"{start}{BEGIN}{tables(costs)}{END}{rest.partition(END)[2]}")
    sys.exit(bool(failed))


def measurable() -> list[str]:
    """Return the methods with a pipeline, except those with a reason."""
    from perf.ours import methods

    return [name for name in sorted(methods.library().methods)
            if methods.pipeline(name) and name not in REASONS]  # fmt: skip


def _measured(
    names: Iterable[str], rounds: int
) -> tuple[dict[str, Step], dict[str, float], list[str]]:
    """Return steps and rows by method, and the methods that failed."""
    from perf.ours import methods

    steps, rows, failed = {}, {}, []
    adam = methods.steps("finetune", (1, 3))
    for name in names:
        try:
            if methods.takes(name)[0]:
                found = steps[name] = step(name, adam, rounds)
            else:
                found = rows[name] = row(name, rounds)
        except Exception as error:  # a failing method must not prevent other measurements
            failed.append(name)
            found = f"{type(error).__name__}: {error}"
        print(f"{name}: {found}", file=sys.stderr, flush=True)
        gc.collect()
    return steps, rows, failed


def step(method: str, adam: Any, rounds: int) -> Step:
    """Measure steps of a method and of Adam in turn, fewer for a slow method."""
    from perf import problems
    from perf.ours import methods
    from perf.work import a_unit

    work = methods.steps(method, (1, 2), problems.WIDE._replace(rows=2 * method_costs.ROWS))
    a_unit(work, waits=False)  # traces
    if a_unit(work, waits=False).cpu < SLOW:
        work = methods.steps(method, (1, 3))
        a_unit(work, waits=False)
    a_unit(adam, waits=False)
    pairs = [(a_unit(work, waits=False).cpu, a_unit(adam, waits=False).cpu) for _ in range(rounds)]
    own, beside = (list(costs) for costs in zip(*pairs, strict=True))
    middle = (1e6 * statistics.median(one) for one in (own, beside))
    return Step(*map(_rounded, middle), _rounded(ratio(beside, own).middle))


def row(method: str, rounds: int) -> float:
    """Return the microseconds per row, from as many rows as a round has time for."""
    from perf.ours import methods
    from perf.work import a_unit

    few = methods.rows(method, FEW_ROWS)
    a_unit(few, waits=False)  # compiles
    number = int(min(SECONDS_OF_ROWS / a_unit(few, waits=False).cpu, 20_000))
    work = methods.rows(method, number) if number > FEW_ROWS else few
    a_unit(work, waits=False)
    return _rounded(1e6 * statistics.median(a_unit(work, waits=False).cpu for _ in range(rounds)))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _how(rounds: int, only: list[str] | None, load: tuple[float, ...], before: str) -> str:
    about = machine(load)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True, capture_output=True
    ).stdout.strip()
    said = f" --only {' '.join(only)}" if only else ""
    text = (
        f"`python -m perf.costs --rounds {rounds}{said}` on {datetime.date.today()}, commit"
        f" {commit}; {about['processor']}, one thread on one core, load before"
        f" {about['load_before'][0]}, instructions: portable (AVX2)."
    )
    return f"{before} {text}".strip()


def _write(costs: Costs) -> None:
    """Write the file, sorted by method, without methods that no longer exist."""
    from perf.ours import methods

    known = methods.library().methods
    steps = {name: one._asdict() for name, one in costs.steps.items() if name in known}
    rows = {name: one for name, one in costs.rows.items() if name in known}
    parts: dict[str, Any] = {"not_measured": dict(costs.not_measured), "steps": steps, "rows": rows}
    said = yaml.safe_dump({"how": costs.how}, width=100, allow_unicode=True)
    # one line per method
    FILE.write_text(HEADER + said + yaml.safe_dump(parts, default_flow_style=None, width=1000))


def tables(costs: Costs) -> str:
    """Return the tables of perf/table.md, and the methods without a measurement."""
    steps = [
        (f"`{name}`", seconds(one.own / 1e6), seconds(one.adam / 1e6), digits(one.times))
        for name, one in costs.steps.items()
    ]
    rows = [(f"`{name}`", seconds(one / 1e6)) for name, one in costs.rows.items()]
    reasons: dict[str, list[str]] = {}
    for name, reason in costs.not_measured.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    return "\n".join([
        "",
        costs.how,
        "",
        *_table(("method", "a step", "of Adam alone", "times Adam"), steps),
        "",
        *([*_table(("method", "a row"), rows), ""] if rows else []),
        "Without a measure:",
        "",
        *(f"- {', '.join(names)}: {reason}." for reason, names in reasons.items()),
        "", "",
    ])  # fmt: skip


def _table(head: tuple[str, ...], body: list[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *body)]


if __name__ == "__main__":
    main()
