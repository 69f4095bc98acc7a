"""Settings in one mapping, as the estimators of other libraries have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def arguments(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return settings as arguments of the functions of `shiftbench`.

    settings: values by the name of a setting, or by ``"component.setting"``.
    """
    named = dict(settings or {})
    dotted = {key: named.pop(key) for key in [*named] if "." in key}
    return {"settings": dotted, **named}
