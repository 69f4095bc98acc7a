"""A user's components are found like ours, or refused with the file and the remedy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shiftbench.config import (
    components,
    config_file,
    digest,
    environment,
    spec_code,
    specs,
    user_components,
)
from shiftbench.core.errors import UserError

LEARNER = '''\
"""Predicts zero."""

import dataclasses
from dataclasses import dataclass

from my_parts.numbers import ZERO
from shiftbench.core.facts import Facts

FACTS = Facts(takes={"value": "gaussian", "two-classes": "score"}, model=False)


@dataclass(frozen=True)
class Settings:
    sd: float = 1.0
    """Standard deviation."""


def build(settings, problem, model=None):
    """The learner."""
    return ZERO
'''
CONFIG = """\
components: my_parts
streams:
  table: {family: tabular, rows: 30, realisations: 2}
studies:
  mine:
    title: Mine
    streams: [table]
    seeds: 2
    metrics: [average_cumulative_loss]
    artefacts: [score-table]
    methods:
      zero: [zero]
      oga: [oga]
"""


@pytest.fixture
def folder(tmp_path):
    """Yield a folder of components with one learner, beside a config; forget them afterwards."""
    made = tmp_path / "my_parts"
    (made / "learners").mkdir(parents=True)
    (made / "learners" / "zero.py").write_text(LEARNER)
    (made / "numbers.py").write_text("ZERO = 0\n")
    (tmp_path / "mine.yaml").write_text(CONFIG)
    yield made
    forget()


def forget() -> None:
    """Reset the components as in a new process."""
    for package in components.packages().keys() - {components.OURS}:
        components.remove(package)
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_parts"]:
        del sys.modules[name]
    spec_code._modules.clear()
    for module in (components, digest, environment, spec_code):
        for made in vars(module).values():
            if hasattr(made, "cache_clear") and made is not environment._lock:
                made.cache_clear()


def digests(folder: Path) -> dict[str, str]:
    """Return the digests of the config's runs, after reading the folder again."""
    forget()
    plan = config_file.load(folder.parent / "mine.yaml")
    return {
        name: specs.run(plan, "mine", "table", name, (0, 1))["digest"]
        for name in plan.studies["mine"].methods
    }


def test_a_part_is_found_described_and_imported_as_ours_are(folder) -> None:
    assert user_components.use(folder) == []
    assert "zero" in components.names("learners") and "oga" in components.names("learners")
    assert components.summary("learners", "zero") == "Predicts zero."
    assert components.check("learners", "zero", {"sd": 2}) == {"sd": 2.0}
    assert components.module_name("learners", "zero") == "my_parts.learners.zero"
    assert components.load("learners", "zero").build(None, None) == 0
    assert user_components.use(folder) == [], "a second time is no error"


def test_digests_of_forgotten_parts_do_not_trouble_those_of_ours(folder) -> None:
    plan = config_file.load(folder.parent / "mine.yaml")
    codes = {
        name: specs.run(plan, "mine", "table", name, (0, 1))["code"]
        for name in plan.studies["mine"].methods
    }
    ours = {code for name, code in codes.items() if name != "zero"}
    assert codes["zero"] in spec_code.behind() and ours
    user_components.forget()
    assert codes["zero"] not in spec_code.behind() and ours <= spec_code.behind().keys()


def test_a_package_may_have_code_of_its_own(folder) -> None:
    (folder / "__init__.py").write_text("LEVEL = 3\n")
    text = LEARNER.replace("from my_parts.numbers import ZERO", "from .. import LEVEL as ZERO")
    (folder / "learners" / "zero.py").write_text(text)
    assert user_components.use(folder) == []
    assert components.load("learners", "zero").build(None, None) == 3


@pytest.mark.long
def test_an_edit_makes_stale_what_imports_it_and_a_comment_nothing(folder) -> None:
    before = digests(folder)
    (folder / "numbers.py").write_text('"""Numbers."""\n\nZERO = 0  # none\n')
    assert digests(folder) == before
    (folder / "other.py").write_text("ONE = 1\n")
    assert digests(folder) == before
    (folder / "numbers.py").write_text("ZERO = 1\n")
    after = digests(folder)
    assert {name for name in before if after[name] != before[name]} == {"zero"}
    (folder / "numbers.yaml").write_text("one: 1\n")
    assert digests(folder)["zero"] != after["zero"]


def test_packages_that_only_parts_import_count_by_what_is_installed(folder, monkeypatch) -> None:
    path = folder / "learners" / "zero.py"
    path.write_text(LEARNER.replace("import dataclasses", "import pluggy, numpy"))
    assert user_components.use(folder) == []
    modules = ["my_parts.learners.zero"]
    found = environment.versions(*modules)
    assert found["numpy"] == environment.versions("shiftbench.core.seeds")["numpy"]
    monkeypatch.setattr(environment, "_installed", lambda name: ["0.1"])
    lock = environment._lock()
    known = {name: found for name, found in lock.versions.items() if name != "pluggy"}
    monkeypatch.setattr(environment, "_lock", lambda: lock._replace(versions=known))
    assert environment.versions(*modules) == found | {"pluggy": ["0.1"]}


def test_what_is_not_installed_is_said_before_anything_runs(folder) -> None:
    path = folder / "learners" / "zero.py"
    path.write_text(LEARNER.replace("import dataclasses", "import no_such_package_here"))
    with pytest.raises(UserError, match=r"zero\.py imports no_such_package_here, which is not ins"):
        config_file.load(folder.parent / "mine.yaml")


def test_a_part_that_raises_at_import_is_named_with_its_line(folder) -> None:
    (folder / "numbers.py").write_text("ZERO = 0\nraise RuntimeError('no licence')\n")
    assert user_components.use(folder) == []
    with pytest.raises(UserError, match=r"numbers\.py, line 2: RuntimeError: no licence"):
        components.load("learners", "zero")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def build(", "def build((", r"zero.py, line \d+: "),
        ("class Settings", "class Setings", "needs a dataclass Settings"),
        ("def build", "def built", "the learner needs a function `build`"),
        ("takes=", "gives=", r"one of the learners declares `FACTS = Facts\(takes="),
        (
            "model=False",
            'model="shape"',
            r"zero.py, line \d+: ValueError: model is 'shape'; it is one of True, False, 'shapes'",
        ),
        ('"value": "gaussian"', '"value": "gausian"', "'gausian' is none of categorical, gaussian"),
        ("model=False", "model=ZERO", "NameError: name 'ZERO' is not defined; declarations are"),
        ("takes=", "take=", r"TypeError: .* unexpected keyword argument 'take'"),
        ("@dataclass(frozen=True)\n", "", r"Settings must be a class below @dataclass\(frozen"),
        ("def build", "Settings = 0\n\n\ndef build", "Settings must be a class below @dataclass"),
        ("FACTS = Facts(", "FACTS = dict(", r"FACTS must be Facts\(...\)"),
        ("sd: float = 1.0", "sd: np.ndarray = 1.0", "NameError: name 'np' is not defined"),
    ],
)
def test_a_wrong_part_is_refused_with_its_file(folder, old, new, said) -> None:
    path = folder / "learners" / "zero.py"
    path.write_text(LEARNER.replace(old, new))
    with pytest.raises(config_file.ConfigError, match=said) as error:
        config_file.load(folder.parent / "mine.yaml")
    assert str(path) in str(error.value) and "1 error" in str(error.value)
    assert "my_parts" not in components.packages()


def test_metrics_and_artefacts_say_what_they_must(folder) -> None:
    (folder / "metrics").mkdir()
    (folder / "metrics" / "mine.py").write_text('"""M."""\nSTAGE = "later"\n')
    (folder / "artefacts").mkdir()
    (folder / "artefacts" / "mine.py").write_text('"""A."""\n')
    said = "\n".join(user_components.use(folder))
    for words in (
        "mine.py: a file of metrics declares METRICS, a list of Metric(...)",
        "function `draw`", "function `caption`",
    ):  # fmt: skip
        assert words in said


METRIC = """
from shiftbench.core.metric import Metric

def score(run, stream):
    return run["score"].isel(task=-1).sum("metric").values

SHARED = {"unit": "1", "stage": "run"}
METRICS = [
    Metric("sum", about="Sum of all scores.", better="lower", score=score, **SHARED),
    Metric("half", about="Half of it.", better=None, score=lambda *stores: score(*stores) / 2,
           **SHARED),
]
"""


def test_a_file_of_metrics_is_used_as_ours_are(folder) -> None:
    (folder / "metrics").mkdir()
    (folder / "metrics" / "sums.py").write_text(METRIC)
    assert user_components.use(folder) == []
    assert {"sum", "half"} <= set(components.names("metrics"))
    assert components.module_name("metrics", "half") == "my_parts.metrics.sums"
    assert components.metric("sum").higher_is_better is False
    assert components.summary("metrics", "half") == "Half of it."
    assert components.load_metric("half").higher_is_better is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"stage": "run"', '"stage": "later"', "stage is 'later'; it is one of 'before'"),
        ('better="lower"', 'better="less"', "better is 'less'; it is one of 'higher', 'lower'"),
        ("better=None, ", "", "missing 1 required keyword-only argument: 'better'"),
        ('about="Half of it."', "about=text", "name 'text' is not defined; declarations are"),
        ("better=None, ", "betters=None, ", "unexpected keyword argument 'betters'"),
        ('"half"', '"sum"', 'two metrics are called "sum"'),
        ('"half"', '"acc"', 'there is another "acc" among the metrics'),
        ('"half"', '"a half"', '"a half" is not a name for a metric'),
        ("def score(run", "def score((run", r"sums.py, line \d+: "),
    ],
)
def test_wrong_metrics_are_refused_with_their_file(folder, old, new, said) -> None:
    (folder / "metrics").mkdir()
    path = folder / "metrics" / "sums.py"
    path.write_text(METRIC.replace(old, new))
    (text,) = user_components.use(folder)
    assert text.startswith(str(path))
    assert re.search(said, text), text
    assert "my_parts" not in components.packages()


def test_a_part_named_like_ours_and_two_of_one_name(folder, tmp_path) -> None:
    (folder / "learners" / "oga.py").write_text(LEARNER)
    said = user_components.use(folder)
    assert len(said) == 1 and "learners/oga.py" in said[0]
    assert str(components.path("learners", "oga")) in said[0]
    (folder / "learners" / "oga.py").unlink()
    assert user_components.use(folder) == []
    other = tmp_path / "other_parts" / "learners"
    other.mkdir(parents=True)
    (other / "zero.py").write_text(LEARNER)
    (said,) = user_components.use(other.parent)
    assert str(folder / "learners" / "zero.py") in said and str(other / "zero.py") in said


@pytest.mark.parametrize(
    ("name", "made", "said"),
    [
        ("nowhere", "", "there is no folder"),
        ("my-parts", "learners", '"my-parts" cannot be imported'),
        ("numpy", "learners", '"numpy" is the name of another package'),
        ("json", "learners", '"json" is the name of a module of Python'),
        ("shiftbench", "learners", "two folders are called shiftbench"),
        ("empty_parts", "_helpers", "has none of the folders streams, models, learners"),
        ("some_parts", "learner", 'unknown kind of component "learner"; did you mean "learners"'),
    ],
)
def test_a_wrong_folder_is_refused(tmp_path, name, made, said) -> None:
    if made:
        (tmp_path / name / made).mkdir(parents=True)
    assert said in user_components.use(tmp_path / name)[0]


def test_a_file_that_cannot_be_imported_by_its_name(folder) -> None:
    (folder / "learners" / "my-zero.py").write_text(LEARNER)
    (said,) = user_components.use(folder)
    assert "rename it, as in my_zero.py" in said


@pytest.mark.parametrize("kind", ["learners", "metrics"])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("latin.py", '"""Präzise."""'.encode("latin-1"), "line 1: it is not UTF-8 (invalid"),
        ("nul.py", b'"""Zero."""\nX = 1\0', "line 2: it has a NUL character"),
        ("1st.py", b'"""First."""', "let it begin with a letter"),
        ("Ünder.py", b'"""Letters."""', "let it begin with a letter"),
    ],
)
def test_a_file_that_is_no_python_is_refused(folder, kind, name, content, said) -> None:
    (folder / kind).mkdir(exist_ok=True)
    (folder / kind / name).write_bytes(content)
    found = user_components.use(folder)
    assert len(found) == 1 and found[0].startswith(str(folder / kind / name)) and said in found[0]


def test_a_file_in_place_of_the_folder_is_refused(folder) -> None:
    (said,) = user_components.use(folder / "learners" / "zero.py")
    assert "zero.py is a file; name the folder with learners/" in said


def test_wrong_folders_stand_in_the_config_with_their_line(folder) -> None:
    path = folder.parent / "mine.yaml"
    path.write_text(CONFIG.replace("my_parts", "[my_parts, nothing]"))
    with pytest.raises(
        config_file.ConfigError, match=r"line 1, components\[1\]: there is no folder"
    ):
        config_file.load(path)
    path.write_text(CONFIG.replace("my_parts", "3"))
    with pytest.raises(config_file.ConfigError, match="should be the path of a folder"):
        config_file.load(path)


def test_a_config_that_starts_from_another_has_its_parts_too(folder) -> None:
    (folder.parent / "next").mkdir()
    path = folder.parent / "next" / "next.yaml"
    path.write_text("from: ../mine.yaml\n")
    assert "zero" in config_file.load(path).studies["mine"].methods


@pytest.mark.long
def test_they_are_listed_with_their_config_and_shown(folder) -> None:
    called = [sys.executable, "-m", "shiftbench", "list", "learners", "--config", "mine.yaml"]
    listed = subprocess.check_output(called, cwd=folder.parent, text=True)
    assert "Predicts zero." in listed
    (folder.parent / "methods").mkdir()
    method = {"label": "Zero", "cite": ["li2021vbs"], "summary": "Zero.", "pipeline": ["zero"]}
    (folder.parent / "methods" / "mine.yaml").write_text(json.dumps({"null": method}))
    called = [sys.executable, "-m", "shiftbench", "show", "null", "--config", "mine.yaml"]
    assert "Standard deviation." in subprocess.check_output(called, cwd=folder.parent, text=True)


@pytest.mark.long
def test_ours_are_what_parts_must_be() -> None:
    assert user_components.problems(components.OURS) == []
