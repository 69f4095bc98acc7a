"""Files of artefacts: equal bytes, and no partial files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftbench.evaluation import figure_files, output_files, table_files
from shiftbench.evaluation.artefacts import toy_hypotheses
from tests.evaluation.scoring import stores


@pytest.mark.long
def test_a_figure_has_the_same_bytes_whenever_it_is_drawn(tmp_path):
    study = stores.toy_study()
    for name in ("one", "two"):
        figure_files.save(toy_hypotheses.draw(study), tmp_path / name)
    for kind in ("svg", "png"):
        one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two
    assert b"dc:date" not in one
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "one.png", "one.svg", "two.png", "two.svg",
    ]  # fmt: skip


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    def fail(path):
        path.write_text("half")
        raise OSError("disk full")

    writers = {"csv": lambda path: path.write_text("whole"), "md": fail}
    with pytest.raises(OSError, match="disk full"):
        output_files.write_together(tmp_path / "table", writers)
    assert list(tmp_path.iterdir()) == []


def test_a_table_as_csv_and_markdown(tmp_path):
    frame = pd.DataFrame({"learner": ["a", "b"], "accuracy": [81.257, np.nan], "n": [5, 0]})
    table_files.save(frame, tmp_path / "table", "Two learners.")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "table.csv"), frame)
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "| b         |          - |   0 |" in text
    assert "81.3" in text
    assert text.endswith("Two learners.\n")
