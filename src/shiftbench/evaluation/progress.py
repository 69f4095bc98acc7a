"""Progress of one run: a bar on a terminal, plain lines in the log."""

from __future__ import annotations

import logging
import sys
import time

from tqdm import tqdm

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Counts tasks; shows the task, a metric and the time left."""

    def __init__(self, name: str, total: int, done: int) -> None:
        self.name, self.total, self.done = name, total, done
        self.bar = tqdm(
            total=total, initial=done, desc=name, unit="task", leave=False,
            disable=not sys.stderr.isatty(),
        )  # fmt: skip
        self.start, self.first, self.shown = time.monotonic(), done, 0.0
        log.info("%s: task %d of %d", name, done, total)

    def advance(self, note: str) -> None:
        """One task more; `note` is a metric to show."""
        self.done += 1
        self.bar.set_postfix_str(note, refresh=False)
        self.bar.update()
        now = time.monotonic()
        if now - self.shown < SECONDS_BETWEEN_LINES and self.done < self.total:
            return
        self.shown = now
        left = (now - self.start) / (self.done - self.first) * (self.total - self.done)
        log.info("%s: task %d of %d, %s, %.0f s left", self.name, self.done, self.total, note, left)

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()
