"""Writer of pages: fills the templates with values that all pages share, and their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from shiftbench.config import bibliography, metric_words
from shiftbench.evaluation.scoring import verdicts
from shiftbench.publish.site import numbers, standings

TEMPLATES = Path(__file__).with_name("templates")
STATE_SIGNS = {
    standings.BEST: "★",
    standings.TIED: "≈",
    standings.UNCLEAR: "?",
    standings.UNKNOWN: "†",
}
"""Signs behind scores and ranks."""
VERDICT_MARKS = {
    verdicts.REPRODUCED: "●",
    verdicts.CONTRADICTED: "✖",
    verdicts.UNRESOLVED: "◆",
    verdicts.MIXED: "◐",
    verdicts.TOO_LITTLE: "■",
    verdicts.UNKNOWN: "▦",
    verdicts.NOT_RUN: "□",
    verdicts.CHECKED[verdicts.REPRODUCED]: "✓",
    verdicts.CHECKED[verdicts.CONTRADICTED]: "✗",
    verdicts.CHECKED[verdicts.UNRESOLVED]: "◇",
    verdicts.CHECKED[verdicts.NOT_RUN]: "□",
}
"""Signs before the names of verdicts."""


class Writer:
    """Writes pages of a site from templates with common values."""

    def __init__(self, site: Path, common: Mapping[str, Any]) -> None:
        self.site, self.common, self.environment = site, common, _environment()

    def __call__(self, template: str, place: str, **values: Any) -> None:
        """Write a page to its place in the site."""
        path = self.site / place
        path.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * place.count("/")
        page = self.environment.get_template(template)
        text = page.render(**self.common, root=root, here=place, **values)
        path.write_text(text, encoding="utf-8")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["json"] = _json
    environment.filters["words"] = metric_words.words
    environment.filters["works"] = bibliography.in_words
    environment.globals["verdict_marks"] = VERDICT_MARKS
    environment.globals["state_signs"] = STATE_SIGNS
    environment.globals["glosses"] = numbers.GLOSSES
    environment.globals["distinct"] = lambda values: list(dict.fromkeys(filter(None, values)))
    return environment


def _json(value: Any) -> str:
    """Return JSON for a script element, which no text inside can end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")
