"""Messages on what differs between two specs and between two states of the code."""

from __future__ import annotations

import json
from pathlib import Path

from shiftbench.config import config_file, digest, specs
from shiftbench.forecast import digest_manifest
from shiftbench.forecast.reasons import Reason, apart
from tests.config.test_config_file import GOOD


def _spec(folder: Path, text: str = GOOD) -> dict:
    path = folder / "some.yaml"
    path.write_text(text)
    return specs.run(config_file.load(path), "toy", "steps", "beam", (0, 1))


def test_what_differs_has_the_name_that_configs_have_for_it(tmp_path) -> None:
    old = _spec(tmp_path)
    new = _spec(tmp_path, GOOD.replace("size: 2", "size: 3").replace("points: 12", "points: 13"))
    assert list(apart(old, new, tmp_path)) == [
        Reason("config", "stream.settings.points: 12 -> 13"),
        Reason("config", "beam.size: 2 -> 3"),
    ]


def test_a_change_of_a_long_list_names_its_items_and_a_long_value_is_cut(tmp_path) -> None:
    claims = [{"name": f"claim-{number}", "says": "x" * 60} for number in range(9)]
    other = [*claims[1:8], claims[8] | {"says": "y"}, *({"name": name} for name in "abcde")]
    old, new = {"claims": claims, "title": "z" * 999}, {"claims": other, "title": "short"}
    assert [reason.words for reason in apart(old, new, tmp_path)] == [
        "claims: added a, b, c and 2 more; changed claim-8; removed claim-0",
        f"title: {'z' * 120}… -> short",
    ]


def test_another_file_of_ones_own_is_data(tmp_path) -> None:
    old, new = (
        _spec(tmp_path) | {"stream": {"data": {"path/rows.csv": digit * 64}}} for digit in "01"
    )
    assert list(apart(old, new, tmp_path)) == [Reason("data", "path/rows.csv: another file")]


def test_a_function_and_a_package_that_changed_are_named(tmp_path) -> None:
    new = _spec(tmp_path)
    digest_manifest.write(tmp_path)
    folder = tmp_path / digest_manifest.FOLDER
    code = json.loads((folder / f"{new['code']}.json").read_text())
    module = "shiftbench.methods.combinators.beam"
    parts = digest.definitions(module)
    (folder / "modules/before.json").write_text(json.dumps(parts | {"build": "another"}))
    (folder / "old.json").write_text(json.dumps(code | {module: "before"}))
    packages = json.loads((folder / f"{new['environment']}.json").read_text())
    (folder / "older.json").write_text(json.dumps(packages | {"numpy": ["1.0"]}))
    old = new | {"code": "old", "environment": "older"}
    assert list(apart(old, new, tmp_path)) == [
        Reason("code", f"{module}.build"),
        Reason("packages", f"numpy 1.0 -> {', '.join(packages['numpy'])}"),
    ]
    unknown = new | {"code": "gone"}
    (reason,) = apart(unknown, new, tmp_path)
    assert "not kept" in reason.words


def test_definitions_do_not_see_comments_and_tell_methods_apart(tmp_path, monkeypatch) -> None:
    file = tmp_path / "one.py"
    text = (
        'import os\n\nSIZE = 3\n\n\nclass A:\n    """A."""\n\n    def f(self):\n        return 1\n'
    )
    file.write_text(text)
    monkeypatch.setattr(digest, "_file", lambda _: file)
    before = digest.definitions("one")
    assert set(before) == {"imports", "SIZE", "A", "A.f"}
    file.write_text(text.replace("return 1", "return 2  # now").replace("A.", "The A."))
    after = digest.definitions("one")
    assert [name for name in before if before[name] != after[name]] == ["A.f"]
