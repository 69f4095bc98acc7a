"""The components of a pipeline with their kinds: combinators, outermost first, then a learner.

A file of its own, since a run needs it, and should not depend on the form of configs (schema.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def by_kind(pipeline: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the items of a pipeline with their kind: combinators, and a learner last."""
    for position, item in enumerate(pipeline):
        yield ("learners" if position == len(pipeline) - 1 else "combinators"), item
