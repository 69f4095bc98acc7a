"""Finds values that YAML 1.1, which our loader follows, reads in a surprising way: 010 is 8.

YAML 1.2 reads such values, also 1:30, yes, no, on and off, as texts or as other numbers.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator

import yaml

from shiftbench.config.yaml_lines import Issue, KeyPath

PLAIN = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9]\d*)|0x[\da-fA-F]+"),
    "tag:yaml.org,2002:float": re.compile(r"[^_:]+"),
    "tag:yaml.org,2002:bool": re.compile("true|false", re.IGNORECASE),
}
"""Patterns of values without quotes that YAML 1.1 and 1.2 read in the same way, by their tag."""


@functools.lru_cache(maxsize=256)  # configs of one process share the files of the library
def issues(node: yaml.Node | None) -> tuple[Issue, ...]:
    """Return an issue for each value of a file that YAML 1.1 and 1.2 read differently."""
    return tuple(_issues(node, ()))


def _issues(node: yaml.Node | None, place: KeyPath) -> Iterator[Issue]:
    if isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            yield from _issues(value, (*place, position))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _issues(value, (*place, key.value))
    elif node and node.tag in PLAIN and not PLAIN[node.tag].fullmatch(node.value):
        meant = json.dumps(yaml.load(node.value, yaml.CSafeLoader))
        text = f"{node.value} stands for {meant} in YAML; write {meant}"
        yield place, f'{text}, or "{node.value}" in quotes for text'
