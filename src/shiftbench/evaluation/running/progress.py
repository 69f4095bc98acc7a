"""Progress of one run: a bar on a terminal, plain lines in the log."""

from __future__ import annotations

import logging
import sys
import time

from tqdm import tqdm

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """A counter that shows the task, a metric and the time left; tasks below 0 are the warm-up."""

    def __init__(self, name: str, total: int, next_task: int) -> None:
        self.name, self.total, self.done = name, total, next_task
        self.bar = tqdm(
            total=total, initial=max(next_task, 0), desc=name, unit="task", leave=False,
            disable=not sys.stderr.isatty(),
        )  # fmt: skip
        self.start, self.first, self.shown = time.monotonic(), next_task, 0.0
        log.info("%s: %s", name, "warm-up" if next_task < 0 else f"task {next_task} of {total}")

    def advance(self, note: str, tasks: int = 1) -> None:
        """Count `tasks` more tasks; `note` is a metric to show, or empty."""
        self.done += tasks
        now = time.monotonic()
        if self.done <= 0:
            # The time of a warm-up says nothing about that of a task.
            self.start, self.first = now, self.done
            return
        self.bar.set_postfix_str(note, refresh=False)
        self.bar.update(tasks)
        if now - self.shown < SECONDS_BETWEEN_LINES and self.done < self.total:
            return
        self.shown = now
        left = (now - self.start) / (self.done - self.first) * (self.total - self.done)
        parts = f"task {self.done} of {self.total}", note, f"{tqdm.format_interval(left)} left"
        log.info("%s: %s", self.name, ", ".join(part for part in parts if part))

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()
