"""`check` accepts each config in the documents, including those of which only a part is shown.

A block may begin with the path of its file, as in `# config/mine.yaml`; the files of one document
go to the same folder. `give` writes the reader's own files, such as tables.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import yaml

from shiftbench.cli import main
from shiftbench.config import components
from shiftbench.config.schema import Study, StudyFile
from tests.checkout import ROOT
from tests.config.test_user_components import forget

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "config/*.md", "results/*.md", "examples/*/*.md")
    for path in ROOT.glob(pattern)
)
BASE = {
    "from": "transformed-digits", "methods": ["vcl-bnn"], "metrics": ["accuracy"],
    "artefacts": [], "baseline": None, "seeds": 1,
}  # fmt: skip
"""The study that a block with only some keys or streams is merged into."""
FITTING = {"streams": {"walk": {"family": "toy-step"}}, "metrics": ["log_predictive"]}
"""The keys of a study of methods for series."""
KINDS = ("methods", "studies", "claims")
"""Folders beside a config."""
COMPONENT = re.compile(r"src/shiftbench/(\w+/\w+)/(\w+\.py)")


class Block(NamedTuple):
    """A block of a document. path: the path of its file, empty if it names none."""

    document: str
    line: int
    language: str
    path: str
    text: str


def blocks(document: str) -> Iterator[Block]:
    """Yield the YAML and Python blocks of a document, in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    pattern = r"^([ \t]*)```(ya?ml|python)\n(.*?)^\1```"
    for found in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        inner = textwrap.dedent(found[3])
        named = re.match(r"# (\S+\.(?:ya?ml|py))\n", inner)
        line = text.count("\n", 0, found.start()) + 1
        yield Block(document, line, found[2][0], named[1] if named else "", inner)


def configs() -> Iterator[Block]:
    """Yield the blocks that are configs or parts of one; skip Snakemake profiles and comments."""
    for document in DOCUMENTS:
        for block in blocks(document):
            data = yaml.safe_load(block.text) if block.language == "y" else None
            if data and "executor" not in data:
                yield block


BLOCKS = list(configs())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder for the files of a document, and forget its components afterwards."""
    made = tmp_path / "checkout"
    made.mkdir()
    yield made
    if components.packages().keys() != {components.OURS}:
        forget()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.document}:{block.line}")
def test_check_accepts(block: Block, folder: Path, capsys: pytest.CaptureFixture) -> None:
    for other in blocks(block.document):
        if other.path:
            write(other, folder)
    place = folder / (block.path or "config/block.yaml")
    if place.parent.name in KINDS:
        place = place.parents[1] / "block.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    text = whole(block)
    if (place.parent / "my_parts").is_dir() and "components" not in text:
        text = f"components: my_parts\n{text}"
    place.write_text(text, encoding="utf-8")
    for stream in streams(yaml.safe_load(text)):
        if "path" in stream:
            give(stream, place.parent / stream["path"])
    assert main.main(["check", str(place)]) == 0, capsys.readouterr().err


def test_blocks_are_found() -> None:
    """Guard against a vacuous pass of the test above."""
    found = {block.document for block in BLOCKS}
    assert found >= {"README.md", "CONTRIBUTING.md", "config/README.md"}
    assert any(document.startswith("docs/") for document in found)


def test_a_block_in_a_list_is_found_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("- so:\n\n  ```yaml\n  # mine.yaml\n  studies: [nile]\n  ```\n")
    (block,) = blocks(str(page))
    assert block[1:] == (3, "y", "mine.yaml", "# mine.yaml\nstudies: [nile]\n")


def whole(block: Block) -> str:
    """Return the complete config for a block that is a config or a part of one."""
    data = yaml.safe_load(block.text)
    name, kind = Path(block.path).stem, Path(block.path).parent.name
    if kind == "claims":  # is read with any config beside it
        made: dict[str, Any] = {"part": BASE}
    elif kind == "studies":
        made = {name: {"budget": next(iter(data["budgets"]))}}
    elif kind == "methods":
        made = {f"of-{method}": BASE | FITTING | {"methods": [method]} for method in data}
    elif "studies" in data:
        return block.text
    elif data.keys() <= keys(Study) | keys(StudyFile):
        made = {"part": BASE | data}
    elif all(isinstance(stream, dict) and "family" in stream for stream in data.values()):
        made = {"part": BASE | {"streams": data}}
    else:
        pytest.fail(f"{block.document}, line {block.line}: write a config, or keys of one study")
    return yaml.safe_dump({"studies": made})


def keys(model: Any) -> set[str]:
    """Return the keys that users may write."""
    return {field.alias or name for name, field in model.model_fields.items()}


def streams(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the streams that are defined in a config."""
    studies = data["studies"].values() if isinstance(data["studies"], dict) else ()
    own = [study["streams"] for study in studies if isinstance(study, dict) and "streams" in study]
    defined = [data.get("streams", {}), *(one for one in own if isinstance(one, dict))]
    return [stream for one in defined for stream in one.values()]


def write(block: Block, folder: Path) -> None:
    """Write a block to its file; a component of the package goes to a folder beside the configs."""
    component = COMPONENT.fullmatch(block.path)
    path = folder / block.path
    if component:
        (kind,) = (kind for kind, there in components.FOLDERS.items() if component[1] in there)
        path = folder / "config/my_parts" / kind / component[2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def give(stream: dict[str, Any], path: Path) -> None:
    """Write a minimal file or folder that `check` accepts as a reader's data for a stream."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if stream["family"] in ("series-file", "table-file"):
        names = [*stream.get("columns", ()), stream.get("target", "target"), "load", "wind"]
        table = pd.DataFrame({name: range(120) for name in dict.fromkeys(names)})
        if "time" in stream:
            table.insert(0, stream["time"], pd.date_range("2024-01-01", periods=len(table)))
        table.to_csv(path, index=False)
    elif stream["family"] == "text-files":
        path.mkdir()
        for year in range(2000, 2008):
            (path / f"{year}-05-01_speech.txt").write_text("the ship and the sea\n")
    elif "image-file" in stream["family"]:
        tasks = ("1", "2") if stream.get("protocol") == "tasks" else ("",)
        for place in (path / task / name for task in tasks for name in ("cats", "dogs")):
            place.mkdir(parents=True)
            (place / "1.png").touch()
