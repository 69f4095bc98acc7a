"""Fixtures for tests of pages without a browser."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from shiftbench.publish.site import charts


def without_bundle(patch: pytest.MonkeyPatch) -> None:
    """Omit the charts' library, because bundling takes seconds; test_browser includes it."""
    patch.setattr(charts, "library", lambda: nullcontext(lambda: "window.vegaEmbed = null;"))
