"""Randomly broken configs are refused with a message or take effect."""

from __future__ import annotations

import copy
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from shiftbench.cli import check
from shiftbench.config import claims, jobs
from shiftbench.config.library import Library
from shiftbench.config.schema import Config
from shiftbench.core.errors import UserError
from tests.checkout import ROOT
from tests.fuzzing import VALUES, Tally, cases, generator

CASES = cases(500)
STRANGER = "zz-unknown"
"""A key that no model has."""
OWN = """\
seeds_per_job: 2
definitions: {noise: 0.5}
streams:
  steps: {family: toy-step, points: 12, realisations: 4}
methods:
  mine:
    label: Mine
    cite: [li2021vbs]
    summary: A mean.
    colour: red
    pipeline: [beam: {size: 2}, gaussian-mean: {noise_sd: 0.5}]
    search: {gaussian-mean.noise_sd: [0.25, 0.5, 1.0], beam.size: [2, 3]}
studies:
  steps:
    title: Steps
    question: Where are they?
    streams: [steps]
    seeds: 3
    metrics: [jump_f1, log_predictive]
    baseline: mine
    artefacts: [score-table]
    settings: {gaussian-mean.noise_sd: 0.75}
    methods:
      - mine
      - other: {from: mine, label: Other, beam.size: 4, minutes: 3}
      - own: [gaussian-mean: {noise_sd: 2.0}]
  grid:
    title: A grid
    streams: {grid: {family: toy-step, realisations: 4}}
    axes: {points: [8, 12], noise: {noise_sd: [0.5, 1.0]}}
    seeds: 2
    metrics: [log_predictive]
    methods: [plain: [gaussian-mean]]
"""
TUNED = """\
budget: embedded
studies:
  - recurring-concepts: {from: recurring-concepts, seeds: 2}
  - toy-step
  - again: {from: nile, title: Again, settings: {run-length.hazard: 0.01}}
"""
PICKED = """\
streams: {{nile: {{family: series, dataset: nile, regressors: constant, scaling: z-score}}}}
studies:
  one: {{title: One, streams: [nile], seeds: 1, metrics: [log_predictive], methods: [{}]}}
"""
Place = tuple[Any, ...]


def places(data: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the paths of all values in a document, except the root."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*place, key)
        if isinstance(value, dict | list):
            yield from places(value, (*place, key))


def at(data: Any, place: Place) -> Any:
    for key in place:
        data = data[key]
    return data


class Broken:
    """A document with one fault. kind: how it was made. place: its path, if known."""

    def __init__(self, text: str, kind: str, place: Place = ()) -> None:
        self.text, self.kind, self.place = text, kind, place


def written(data: Any, kind: str, place: Place = ()) -> Broken:
    return Broken(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), kind, place)


def broken(text: str, random: random.Random) -> Broken:
    """Return a document with a fault."""
    if random.random() < 0.25:
        return _broken_text(text, random)
    data = yaml.safe_load(text)
    place = random.choice(list(places(data)))
    parent, key = at(data, place[:-1]), place[-1]
    match random.choice(["value", "value", "delete", "rename", "repeat", "add", "add"]):
        case "value":
            parent[key] = copy.deepcopy(random.choice(VALUES))
            return written(data, f"value {parent[key]!r:.40}", place)
        case "delete":
            del parent[key]
            return written(data, "deleted", place)
        case "rename" if isinstance(parent, dict):
            new = random.choice([STRANGER, f"{key}s", str(key)[:-1] or "x", str(key).upper()])
            renamed = {new if name == key else name: value for name, value in parent.items()}
            parent.clear()
            parent.update(renamed)
            return written(data, f"renamed {new}", place)
        case "repeat" if isinstance(parent, list):
            parent.insert(0, copy.deepcopy(parent[key]))
            return written(data, "repeated", place)
        case _:
            inner = at(data, place) if isinstance(at(data, place), dict) else data
            inner[STRANGER] = copy.deepcopy(random.choice([1, "x", [], None]))
            where = place if inner is not data else ()
            return written(data, f"added {inner[STRANGER]!r}", (*where, STRANGER))


TAGS = ("!!python/object/apply:os.system ['touch owned']", "!!binary aGk=", "!!set {a}", "!mine x",
        "!!int x", "!!float .nan", "!!timestamp 2020-13-45", "2020-01-01", "&a [*a]", "*nowhere",
        "0x10", "0o17", "1_000", "1:30", "yes", "~", "'", '"', "|", ">", "{", "[", "@", "`", "%",
        "\u0007", "\u0085", "\ufeff", "<<: 1", "{<<: [1]}", "{<<: &x {<<: *x}}", "? a", "- - -",
        "'\\x00'", '"\\x00"', '"\\ud800"', "\t", "#", "=", "!!null x", "--- x", "...")  # fmt: skip


def _broken_text(text: str, random: random.Random) -> Broken:
    lines = text.splitlines()
    number = random.randrange(len(lines))
    line = lines[number]
    match random.choice(["indent", "cut", "tag", "twice", "colon", "join", "noise"]):
        case "indent":
            lines[number] = random.choice([" " + line, line.lstrip(), "\t" + line, "   " + line])
        case "cut":
            return Broken(text[: random.randrange(len(text))], "cut")
        case "tag":
            tag = random.choice(TAGS)
            lines[number] = re.sub(r"(?<=[:-] ).+", lambda _: tag, line, count=1)
            return Broken("\n".join(lines), f"tag {tag!r} in line {number + 1}")
        case "twice":
            lines.insert(number, line)
        case "colon":
            lines[number] = line.replace(":", random.choice(["", "::", " :", "="]), 1)
        case "join":
            lines[number : number + 2] = [" ".join(lines[number : number + 2])]
        case _:
            place = random.randrange(len(line) + 1)
            lines[number] = line[:place] + chr(random.randrange(1, 0x2FF)) + line[place:]
    return Broken("\n".join(lines), f"line {number + 1}: {lines[number]!r:.60}")


def planned(path: Path) -> tuple[Config, list[str]]:
    """Return the config with its jobs, each with all that its result depends on."""
    config, _ = check.checked(path)
    planned = jobs.of_config(config, "results", path.stem)
    chosen = planned if len(planned) < 12 else [*planned[:4], *planned[-8:]]
    return config, [f"{job.key} {job.spec['digest']} {job.resources}" for job in chosen]


def matters(before: Any, original: Any, place: Place, put: Callable[[str], Path]) -> bool:
    """Return whether deleting a value makes the config invalid or changes its jobs.

    Values of unused budgets and values that a later file replaces do not matter.
    """
    data = copy.deepcopy(original)
    del at(data, place[:-1])[place[-1]]
    try:
        return planned(put(written(data, "deleted").text)) != before
    except UserError:
        return True


def wrongly(before: Any, case: Broken, original: Any, put: Callable[[str], Path]) -> str:
    """Return why a broken config should have been refused; empty if it need not."""
    after = planned(put(case.text))
    added = case.kind.startswith("added")
    place = case.place[:-1] if added else case.place
    if "definitions" in place:  # only holds anchors
        return ""
    if (added or after == before) and place and not matters(before, original, place, put):
        return ""
    if added:
        return "an unknown key is accepted"
    if case.kind.startswith("value") and after == before:
        old, new = at(original, case.place), at(yaml.safe_load(case.text), case.place)
        # null selects the default, which may be the value before
        if new is not None and type(old) is not type(new) and old != new:
            return f"{old!r:.60} became {new!r:.60}, without effect"
    return ""


@pytest.fixture
def bases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[str], Path]]:
    """Return texts to break, each with a function that replaces it by a broken one."""
    monkeypatch.chdir(tmp_path)
    # Loading our claims takes a third of the time, and nothing here changes them.
    known = claims.load(Library(Path()))
    monkeypatch.setattr(claims, "load", lambda _: known)
    monkeypatch.setattr(claims, "issues", lambda _: ())
    found: dict[str, Callable[[str], Path]] = {}

    def add(text: str, file: Path, config: Path, others: str = "") -> None:
        def put(broken: str) -> Path:
            for folder in ("studies", "methods"):
                shutil.rmtree(folder, ignore_errors=True)
                Path(folder).mkdir()
            if others:
                config.write_text(others, encoding="utf-8")
            file.write_bytes(broken.encode("utf-8", "surrogatepass"))
            return config

        found[text] = put

    for name in ("visits.csv", "prices.csv"):
        (source,) = ROOT.glob(f"examples/*/{name}")
        shutil.copy(source, name)
    config = Path("some.yaml")
    for text in (OWN, TUNED):
        add(text, config, config)
    for name in ("series/visits", "table/prices"):
        add((ROOT / f"examples/{name}.yaml").read_text(), config, config)
    for name in (
        "toy-step",
        "nile",
        "recurring-concepts",
        "outliers-and-changes",
        "regimes",
        "covariance",
    ):
        text = (ROOT / f"config/studies/{name}.yaml").read_text()
        add(text, Path(f"studies/{name}.yaml"), config, f"budget: embedded\nstudies: [{name}]\n")
    for name, method in (("conjugate", "bocpd"), ("drift-detection", "adwin")):
        text = (ROOT / f"config/methods/{name}.yaml").read_text()
        pick = PICKED.format(method)
        add(text, Path(f"methods/{name}.yaml"), config, pick)
    return found


@pytest.mark.long
def test_configs_broken_by_chance(bases) -> None:
    tally, random = Tally("configs"), generator("configs")
    texts = [OWN, OWN, *bases]
    before = {text: planned(bases[text](text)) for text in texts}
    for number in range(CASES):
        text = texts[number % len(texts)]
        case = broken(text, random)
        original = yaml.safe_load(text)
        name = f"{text.splitlines()[0][:30]!r} {case.kind} at {case.place}"
        tally.attempt(
            name,
            lambda b=before[text], c=case, o=original, p=bases[text]: wrongly(b, c, o, p),
            says=r"\.yaml|\.csv",
        )
    tally.report()
