"""Config text is plain text in the report: it cannot run scripts or include files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
from docutils.core import publish_parts

from shiftbench.config import yaml_lines
from shiftbench.core.errors import UserError

REPORT = Path("workflow/report")
HOSTILE = [
    "<script>alert(1)</script>",
    "A title\n\n.. raw:: html\n\n   <script>alert(1)</script>",
    "A title\n\n.. include:: README.md\n   :literal:",
    "`run <javascript:alert(1)>`_ and |substitution| and name_ and **bold",
    ".. raw:: html",
    "a backslash \\* and a star *",
]


def shown(template: str, spec: dict[str, str], output: Path) -> str:
    """Return the caption as rendered by Snakemake: first by Jinja, then by docutils."""
    snakemake = SimpleNamespace(params=SimpleNamespace(spec=SimpleNamespace(**spec)))
    snakemake.output = [str(output)]
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    text = environment.from_string((REPORT / template).read_text()).render(snakemake=snakemake)
    settings = {"report_level": 2, "halt_level": 2}  # warnings are errors
    return publish_parts(text, writer="html", settings_overrides=settings)["body"]


@pytest.mark.parametrize("template", ["figure.rst", "table.rst"])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_config_is_no_markup_in_the_report(template, text, tmp_path) -> None:
    output = tmp_path / "a.md"
    output.write_text("<dc:description>Caption</dc:description>")
    words = " ".join(text.split())
    caption = shown(template, {"title": text, "origin": text, "artefact": "table"}, output)
    assert caption.count(words.replace("<", "&lt;").replace(">", "&gt;")) == 2
    assert "<script" not in caption and "<a " not in caption


def test_a_text_that_would_end_a_script_is_refused_with_its_line(tmp_path) -> None:
    config = tmp_path / "a.yaml"
    config.write_text("# one\n# </SCRIPT>\nstudies: {}\n")
    with pytest.raises(UserError, match=r"a\.yaml, line 2: </SCRIPT would end a script"):
        yaml_lines.read(config)


@pytest.mark.parametrize("text", [r'"a\a"', r'"a\b"', r'"a\x7f"'])
def test_a_control_character_is_refused(text, tmp_path) -> None:
    config = tmp_path / "a.yaml"
    config.write_text(f"title: {text}\n")
    with pytest.raises(UserError, match="is a control character"):
        yaml_lines.read(config)
    config.write_text('title: "a\\ttab and a line\\n and \\\\u0007"\n')
    assert yaml_lines.read(config).data["title"] == "a\ttab and a line\n and \\u0007"


def test_a_device_is_no_config() -> None:
    with pytest.raises(UserError, match="/dev/zero: this is not a regular file"):
        yaml_lines.read(Path("/dev/zero"))
