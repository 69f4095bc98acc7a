"""Pages that need no browser."""

from __future__ import annotations

import pytest

from shiftbench.publish.site import charts


def without_bundle(patch: pytest.MonkeyPatch) -> None:
    """Leave out the charts' library, because bundling takes seconds; test_browser has it."""
    patch.setattr(charts, "library", lambda: "window.vegaEmbed = null;")
