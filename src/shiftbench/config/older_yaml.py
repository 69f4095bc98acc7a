"""Values that our loader, by YAML 1.1, takes for others than they seem: 010 is 8, 1:30 is 90.

By YAML 1.2 such values, and yes, no, on and off, are texts or other numbers.
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
"""What values without quotes look like that everybody reads alike, by their tag."""


@functools.lru_cache(maxsize=256)  # configs of one process share the files of the library
def issues(node: yaml.Node | None) -> tuple[Issue, ...]:
    """Return an issue for each value of a file that seems to be another one."""
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
