"""Helpers of the fuzz tests: seeded cases, a time limit per case, and a summary line.

To try more cases with another seed:
SHIFTBENCH_FUZZ=5000 SHIFTBENCH_FUZZ_SEED=7 pytest -s FILE
"""

from __future__ import annotations

import os
import random
import re
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from shiftbench.core.errors import UserError

SEED = int(os.environ.get("SHIFTBENCH_FUZZ_SEED", "45"))
LONGEST_SECONDS = 120.0
"""Time after which a case counts as hanging; the slowest takes seconds, even on a slow machine."""
LONGEST_MESSAGE = 20_000
"""The maximal number of characters of a readable error message."""
VALUES = (
    None, True, 0, -1, 1, 3, 10**9, 10**30, -(10**30), 0.0, 0.5, 1e308, 5e-324, -1e-9,
    float("nan"), float("inf"), float("-inf"), "", " ", "x", "~nobody-here/x", "../..", "/dev/null",
    "2020-01-01", "nan", "Ünïcødé 😀", "a\nb", "a\tb", "y" * 5_000, [], {}, [[]], [None], {"a": {}},
    ["x", "x"], {"x": 1}, [1, "a", None], {"family": "toy-step"}, "$(touch x)", "{braces}", "%s",
)  # fmt: skip
"""Values that hardly any key expects."""


def cases(least: int) -> int:
    """Return the number of cases to try, at least `least`."""
    return max(least, int(os.environ.get("SHIFTBENCH_FUZZ", least)))


def generator(name: str) -> random.Random:
    """Return the random generator of a fuzz test."""
    return random.Random(f"{name} {SEED}")


class Hang(BaseException):
    """A case took too long. Derives from BaseException so that no `except Exception` catches it."""


@contextmanager
def _limited() -> Iterator[None]:
    def end(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Tally:
    """How the cases of a family ended."""

    family: str
    tried: int = 0
    refused: int = 0
    faults: dict[str, list[str]] = field(
        default_factory=lambda: {"traceback": [], "hang": [], "accepted wrongly": []}
    )

    def attempt(self, case: str, action: Callable[[], str | None], says: str = "") -> None:
        """Run a case; `action` returns why the case should have been refused, or None.

        says: a pattern that the message of a refusal has to match.
        """
        self.tried += 1
        try:
            with _limited():
                wrong = action()
        except UserError as error:
            self.refused += 1
            if not re.search(says, str(error)) or len(str(error)) > LONGEST_MESSAGE:
                self.faults["traceback"].append(f"{case}: not a clear message: {error!s:.300}")
        except Hang:
            self.faults["hang"].append(case)
        except BaseException:
            self.faults["traceback"].append(f"{case}: {traceback.format_exc(limit=-4)[-1500:]}")
        else:
            if wrong:
                self.faults["accepted wrongly"].append(f"{case}: {wrong}")

    def report(self) -> None:
        """Print the summary line, and fail with the first faults of each kind."""
        numbers = ", ".join(f"{len(found)} {kind}" for kind, found in self.faults.items())
        print(f"\n{self.family}: {self.tried} tried, {self.refused} refused clearly, {numbers}")
        assert not any(self.faults.values()), "\n\n".join(
            f"{kind}: {fault}" for kind, found in self.faults.items() for fault in found[:40]
        )
