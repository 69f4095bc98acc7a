"""`check` reports all errors of a config and of the files that it names at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.cli import check
from shiftbench.core.errors import UserError

STUDY = """
  {name}:
    title: t
    streams: {{{name}: {{family: series-file, path: {path}, time: t}}}}
    methods: [bocpd]
    metrics: [n_changepoints]
    artefacts: [changepoint-dates]
    seeds: 1
"""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (STUDY.format(name="z", path="empty"), r"streams\.z\.path: the folder .* is empty"),
        ("\n  z:\n", r"studies\.z: "),
        (STUDY.format(name="z", path="a.csv") + "    colour: red\n", 'unknown key "colour"'),
    ],
)
def test_an_error_of_a_study_hides_none_in_the_files_of_others(tmp_path: Path, other, told):
    (tmp_path / "empty").mkdir()
    studies = "studies:"
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("t,v\n1,1\n2,x\n3,3\n")
        studies += STUDY.format(name=name, path=f"{name}.csv")
    config = tmp_path / "mine.yaml"
    config.write_text(studies + other)
    with pytest.raises(UserError, match=told) as error:
        check.checked(config)
    for name in ("a", "b"):
        assert f"stream {name}: " in str(error.value)
        assert f"{name}.csv, line 3, column \"v\": 'x' is not a number" in str(error.value)
