"""The components of a pipeline with their kinds: combinators, outermost first, then a learner.

It is separate from schema.py, because runs need it and must not depend on the form of configs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def by_kind(pipeline: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the items of a pipeline with their kind: combinators, and a learner last."""
    for position, item in enumerate(pipeline):
        yield ("learners" if position == len(pipeline) - 1 else "combinators"), item
