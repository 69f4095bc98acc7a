"""Checks of the user's own methods as they are written, also of those that no study picks.

The methods of this repository are checked by tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from shiftbench.config import (
    bibliography,
    component_checks,
    config_checks,
    form_errors,
    space_checks,
)
from shiftbench.config.composition import FileIssue
from shiftbench.config.library import OURS, YamlValue
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Method
from shiftbench.config.yaml_lines import Issue
from shiftbench.core.suggestions import nearest

MISSPELT = 0.8
"""Similarity from which an unknown key counts as a misspelt key of a known work."""


def issues(methods: Iterable[YamlValue]) -> Iterator[FileIssue]:
    """Find what is wrong with the methods that lie outside this repository's own folders."""
    ours = OURS.resolve()
    for method in methods:
        if ours not in method.document.path.parents:
            for place, message in _of_method(method):
                yield FileIssue(method.document, (*method.place, *place), message)


def _of_method(method: YamlValue) -> Iterator[Issue]:
    """Find what is wrong with a method, whatever study picks it."""
    try:
        Method.model_validate_json(json.dumps(method.data))
    except ValidationError as error:
        yield from config_checks.of_form(error, lambda _: Method)
    entries = component_checks.mapping(method.data)
    known = bibliography.works()
    for position, key in enumerate(component_checks.as_list(entries.get("cite"))):
        is_unknown = isinstance(key, str) and key not in known
        if close := nearest(key, known, similarity=MISSPELT) if is_unknown else []:
            message = f'unknown work "{key}"; did you mean "{close[0]}"? A work that'
            yield ("cite", position), f"{message} docs/papers.md lacks needs a key unlike its keys"
    pipeline = component_checks.as_list(entries.get("pipeline"))
    if pipeline and entries.get("quoted"):
        yield ("quoted",), "a method with a `pipeline` is run, not quoted; take one of both out"
    found = [
        issue
        for position, (kind, item) in enumerate(by_kind(pipeline))
        for issue in component_checks.check_item(("pipeline", position), kind, item)
    ]
    search = component_checks.mapping(entries.get("search"))
    found += space_checks.of_space(("search",), search, pipeline)
    for place, message in found:
        if not message.startswith(form_errors.MISSING):  # every study may give it
            yield place, message
