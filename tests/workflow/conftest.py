"""A copy of the repository in which a workflow has run, shared by tests of reruns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workflow import copies

CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, points: 12}
  images: {family: transformed-images, dataset: digits}
studies:
  toy-study:
    title: Steps
    streams: [steps]
    seeds: 4
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table]
    methods:
      plain: [gaussian-mean]
      search: [beam, gaussian-mean]
  image-study:
    title: Images
    streams: [images]
    model: mlp
    seeds: 2
    metrics: [accuracy]
    baseline: vcl
    artefacts: [score-table, relative-accuracy]
    methods:
      vcl: [mfvi]
      lp: [map]
      independent: [reset, map]
"""
START = "from __future__ import annotations\n"
CODE = (START, f"{START}EXTRA = 1\n")
COMMENT = (START, f"{START}# A comment.\n\n")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository in which the workflow has run."""
    folder = copies.faked(tmp_path_factory.mktemp("copy") / "repository", CONFIG)
    done = copies.snakemake(folder)
    assert done.returncode == 0, done.stdout
    (folder / "said").write_text(done.stdout)
    return folder


@pytest.fixture
def edit(finished: Path) -> Iterator[Callable[..., None]]:
    """Yield a function that replaces text in a file of the copy until the end of the test."""
    originals: dict[Path, str] = {}

    def replace(name: str, *replacements: tuple[str, str]) -> None:
        path = finished / name
        text = originals.setdefault(path, path.read_text())
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)

    yield replace
    for path, text in originals.items():
        path.write_text(text)
