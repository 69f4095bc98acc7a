"""Settings in one mapping, as the estimators of other libraries have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.api.arguments import mapping
from shiftbench.api.input_error import InputError

ARGUMENTS = (
    "name", "method", "values", "settings", "model", "classes", "tasks", "seed", "components",
)  # fmt: skip
"""Arguments of the functions of `shiftbench`."""


def arguments(settings: Mapping[str, Any] | None, seed: str = "seed") -> dict[str, Any]:
    """Return settings as arguments of the functions of `shiftbench`.

    settings: values by the name of a setting, or by ``"component.setting"``. seed: the name that
    the estimator gives to the seed.
    """
    named = dict(mapping("settings", settings))
    for key in named:
        if key in ARGUMENTS:
            raise InputError(
                f'settings: "{key}" is not a setting; pass'
                f" {seed if key == 'seed' else 'it'} as an argument beside `settings`"
            )
    dotted = {key: named.pop(key) for key in [*named] if "." in key}
    return {"settings": dotted, **named}
