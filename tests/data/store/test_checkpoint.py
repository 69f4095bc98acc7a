"""Checkpoints: two generations, a damaged one costs one step, and no pickles."""

from __future__ import annotations

import errno
import os
import zipfile

import numpy as np
import pytest

from shiftbench.data.store import checkpoint


def arrays(step: int) -> dict[str, np.ndarray]:
    return {
        "learner/w": np.full((2, 3), step, np.float32),
        "file": np.array([True, False]),
        "scalar": np.array(0.1 + step),
        "empty": np.zeros((0, 4)),
        "status": np.array(["ok", "failed"]),
    }


def save_steps(folder, steps: int) -> None:
    for step in range(steps):
        checkpoint.save(folder, arrays(step), {"task": step, "elapsed": 0.1 * step})


def assert_step(result, step: int) -> None:
    values, meta = result
    assert meta == {"task": step, "elapsed": 0.1 * step}
    assert values.keys() == arrays(step).keys()
    for name, array in arrays(step).items():
        assert values[name].dtype == array.dtype
        np.testing.assert_array_equal(values[name], array)


def test_round_trip_of_the_newest_of_two_generations(tmp_path):
    save_steps(tmp_path / "run", 4)
    assert_step(checkpoint.load(tmp_path / "run"), 3)
    names = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert names == ["00000002.npz", "00000003.npz"]


def test_nothing_saved(tmp_path):
    assert checkpoint.load(tmp_path / "run") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data.replace(np.float32(3).tobytes() * 6, b"\1" * 24),
    ],
    ids=["truncated", "empty", "bytes changed"],
)
def test_damaged_newest_falls_back_and_gives_its_place_free(tmp_path, damage):
    save_steps(tmp_path, 4)
    newest = tmp_path / "00000003.npz"
    before = newest.read_bytes()
    newest.write_bytes(damage(before))
    assert newest.read_bytes() != before
    assert_step(checkpoint.load(tmp_path), 2)
    checkpoint.save(tmp_path, arrays(3), {"task": 3, "elapsed": 0.1 * 3})
    assert len(list(tmp_path.iterdir())) == 2
    assert_step(checkpoint.load(tmp_path), 3)


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_a_change_of_any_byte_costs_one_step_at_most(tmp_path, mask):
    for step in range(2):
        checkpoint.save(tmp_path, {"w": np.arange(3.0) + step, "v": np.ones(2)}, {"task": step})
    newest = tmp_path / "00000001.npz"
    whole = newest.read_bytes()
    for place in range(len(whole)):
        newest.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
        values, meta = checkpoint.load(tmp_path)
        assert newest.exists() == (meta["task"] == 1), "a damaged one is deleted"
        np.testing.assert_equal(values, {"w": np.arange(3.0) + meta["task"], "v": np.ones(2)})


def test_a_fault_of_the_disk_is_no_damage(tmp_path, monkeypatch):
    save_steps(tmp_path, 2)

    def failing(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(zipfile, "ZipFile", failing)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            checkpoint.load(tmp_path)
    assert_step(checkpoint.load(tmp_path), 1)


def test_all_damaged_is_nothing_saved(tmp_path):
    save_steps(tmp_path, 2)
    for path in tmp_path.iterdir():
        path.write_bytes(b"PK")
    assert checkpoint.load(tmp_path) is None


def test_a_kill_before_the_rename_changes_nothing(tmp_path, monkeypatch):
    save_steps(tmp_path, 2)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(tmp_path, arrays(2), {"task": 2})
    assert_step(checkpoint.load(tmp_path), 1)


def test_objects_are_refused(tmp_path):
    with pytest.raises(ValueError):
        checkpoint.save(tmp_path, {"a": np.array([{}, None])}, {})
    assert checkpoint.load(tmp_path) is None


def test_numpy_reads_a_checkpoint(tmp_path):
    checkpoint.save(tmp_path, {"w": np.arange(3)}, {})
    with np.load(tmp_path / "00000000.npz") as result:
        np.testing.assert_array_equal(result["w"], [0, 1, 2])


def test_remove(tmp_path):
    save_steps(tmp_path / "run", 2)
    checkpoint.remove(tmp_path / "run")
    checkpoint.remove(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
