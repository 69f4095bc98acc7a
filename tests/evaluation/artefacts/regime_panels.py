"""The axes of a small study and the texts of a panel, for tests of regimes."""

from __future__ import annotations

SMALL = {"rows": [25, 400], "tasks_per_segment": [3, 6]}


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]
