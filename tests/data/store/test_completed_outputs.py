"""Results of a finished run survive the loss of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.data.store import checksum, completed_outputs


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    store, cost = tmp_path / "0-9.zarr.zip", tmp_path / "0-9.cost.json"
    store.write_bytes(b"store")
    cost.write_text("{}")
    checksum.write(store, cost)
    completed_outputs.keep("abc", store, cost)
    return store, cost


def test_restored_after_snakemake_removed_it(made: tuple[Path, Path]) -> None:
    for path in made:
        path.unlink()
    assert completed_outputs.restore("abc", *made)
    assert [path.read_bytes() for path in made] == [b"store", b"{}"]
    assert not list(made[0].parent.glob("*.new"))


def test_other_spec_takes_nothing(made: tuple[Path, Path]) -> None:
    made[0].unlink()
    assert not completed_outputs.restore("def", *made)
    assert not made[0].exists()


def test_changed_copy_is_not_taken(made: tuple[Path, Path]) -> None:
    with made[0].open("ab") as same_file:  # a hard link, so the kept file changes too
        same_file.write(b"!")
    assert not completed_outputs.restore("abc", *made)
    assert not completed_outputs.restore("abc", *made)


def test_copy_without_a_checksum_is_not_taken(made: tuple[Path, Path]) -> None:
    made[1].with_name(".0-9.cost.json.sha256").unlink()
    assert not completed_outputs.restore("abc", *made)


def test_dropped_with_its_cost_but_not_its_neighbour(made: tuple[Path, Path]) -> None:
    other = made[0].with_name("0-99.zarr.zip")
    other.write_bytes(b"other")
    checksum.write(other)
    completed_outputs.keep("abc", other)
    completed_outputs.drop([made[0]])
    assert not completed_outputs.restore("abc", *made)
    assert completed_outputs.restore("abc", other)


def test_copied_where_links_are_refused(
    made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(completed_outputs.os, "link", refuse)
    for path in made:
        path.unlink()
    assert completed_outputs.restore("abc", *made)
