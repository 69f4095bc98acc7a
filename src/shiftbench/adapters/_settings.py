"""Methods with settings in one mapping, as estimators have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.api.online_method import OnlineMethod, method


def with_settings(name: Any, settings: Mapping[str, Any] | None, **given: Any) -> OnlineMethod:
    """Return `shiftbench.method` of this name.

    settings: values by the name of a setting, or by ``"component.setting"``.
    """
    named = dict(settings or {})
    dotted = {key: named.pop(key) for key in [*named] if "." in key}
    return method(name, settings=dotted, **given, **named)
