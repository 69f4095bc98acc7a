"""A crate has the files of its config, and `verify` reads what `crate` has made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiftbench.config import user_components
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.publish import crate, crate_files, crate_plan
from tests.publish import small_results


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    user_components.forget()


def write(folder: Path, **texts: str) -> Path:
    """Write YAML files, and return the first; in their names __ stands for a slash."""
    paths = [folder / f"{name.replace('__', '/')}.yaml" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return paths[0]


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("from: ../other/base.yaml", ""),
        ("folder: ..", small_results.CONFIG),
        ("components: ../mine/my_parts", small_results.CONFIG),
    ],
)
def test_a_config_that_leads_out_of_its_folder_makes_no_crate(
    made: Path, tmp_path: Path, key: str, more: str
) -> None:
    write(tmp_path, other__base=small_results.CONFIG)
    (tmp_path / "mine/my_parts/learners").mkdir(parents=True)
    config = write(tmp_path / "mine", small=f"{key}\n{more}")
    with pytest.raises(UserError, match=rf"small\.yaml: {key} leads out .*from this file on"):
        crate.make(made / "results/small", config, tmp_path / "crate")
    assert not (tmp_path / "crate").exists()


def test_a_config_that_starts_from_one_below_its_folder_makes_a_readable_crate(
    made: Path, tmp_path: Path
) -> None:
    """The second has the name of the first, which stands in another folder."""
    (tmp_path / "base.yaml").write_text(small_results.CONFIG)
    config = write(tmp_path / "mine", small="from: parts/small.yaml\n")
    (config.parent / "parts").mkdir()
    (config.parent / "parts/small.yaml").symlink_to(tmp_path / "base.yaml")
    crate.make(made / "results/small", config, tmp_path / "crate")
    assert (tmp_path / "crate/config/parts/small.yaml").read_text() == small_results.CONFIG
    assert len(crate_plan.read(tmp_path / "crate").runs) == 4


def test_other_yaml_beside_the_components_is_no_config(made: Path, tmp_path: Path) -> None:
    config = write(
        tmp_path / "mine",
        small=f"components: my_parts\n{small_results.CONFIG}",
        my_parts__notes="from: ../../letters\nfolder: /home\ncomponents: [a, b]\n",
    )
    (config.parent / "my_parts/learners").mkdir()
    (config.parent / "my_parts/learners/__init__.py").touch()
    crate.make(made / "results/small", config, tmp_path / "crate")
    assert (tmp_path / "crate/config/my_parts/notes.yaml").exists()
    assert crate_plan.own_components(tmp_path / "crate") == ["my_parts"]
    with pytest.raises(UserError, match="only with --trust"):
        crate_plan.read(tmp_path / "crate")
    assert len(crate_plan.read(tmp_path / "crate", trust=True).runs) == 4


def test_a_file_with_the_name_of_one_of_ours_is_not_mistaken_for_it(
    made: Path, tmp_path: Path
) -> None:
    config = write(tmp_path / "mine", small=small_results.CONFIG, methods__vcl="{}\n")
    with pytest.raises(UserError, match=r"mine/methods/vcl\.yaml.* one file of a crate; rename"):
        crate.make(made / "results/small", config, tmp_path / "crate")
    ours = (checkout.CONFIGS / "methods/vcl.yaml").read_text()
    (config.parent / "methods/vcl.yaml").write_text(f"# All of ours, and a remark\n{ours}")
    crate.make(made / "results/small", config, tmp_path / "crate")
    assert "a remark" in (tmp_path / "crate/config/methods/vcl.yaml").read_text()


def test_what_verify_would_refuse_is_not_put_in_place(made: Path, tmp_path: Path) -> None:
    """As where a method of the user's replaces one of ours, which a crate has beside it."""
    config = write(
        tmp_path / "mine",
        small=small_results.CONFIG,
        methods__own="vcl: {label: Own, cite: [unpublished], summary: Own., pipeline: [oga]}\n",
    )
    with pytest.raises(UserError, match=r'(?s)verify.*would refuse.*the method "vcl" is also in'):
        crate.make(made / "results/small", config, tmp_path / "crate")
    assert not (tmp_path / "crate").exists()


def test_hidden_files_beside_the_components_stay_at_home(tmp_path: Path) -> None:
    """They may hold passwords, and a crate has no use for them."""
    folder = tmp_path / ".hidden/my_parts"
    names = (".env", ".git/config", "learners/.ipynb_checkpoints/a.py", "learners/a.py", "a.txt")
    for name in (*names, "learners/__pycache__/a.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    found = [path.relative_to(folder).as_posix() for path in crate_files.below(folder)]
    assert found == ["a.txt", "learners/a.py"]
