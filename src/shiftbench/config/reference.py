"""The reference of all config keys, derived from the models and the components."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from shiftbench.config import compatibility, compatibility_words, components, type_words
from shiftbench.config.claim_schema import ClaimEntry, Finding, Holds
from shiftbench.config.schema import ConfigFile, Method, Stream, Study, StudyFile, Tuning
from shiftbench.core import facts

HEAD = """\
# Config reference

<!-- Derived from the code by `make derived`; a test compares them. Do not edit. -->

A config is a YAML file that picks studies and a budget. The default is `config/embedded.yaml`;
choose another with `make run CONFIG=config/OTHER.yaml` or `snakemake --configfile
config/OTHER.yaml`. The stem of the file (letters, digits, hyphens, dots and underscores; not
`published`) names the folder in `results/`. Studies are files in `studies/` and methods are in
`methods/`, beside the config or here. The whole config is checked before anything runs;
`python -m shiftbench check CONFIG` only checks it. Names have small letters, digits and hyphens, at
most 100 characters; the code gives them no meaning. `shiftbench show NAME` prints a method with the
origin of every setting, or what a study compares, its budget and its cost.
"""

NAMES = """\
A study of your own is written out, or starts from one of ours:

```yaml
studies:
  mine: {from: permuted-digits, methods: [independent, vcl, ewc], seeds: 1}
```

`from` takes any name that `shiftbench list studies` prints. The study then has the budget and the
reductions of `config/embedded.yaml`. With `budget: cpu`, `from` takes the files in `studies/` that
have this budget, and the studies of `config/cpu.yaml`, such as `permuted-mnist-full`.

The keys beside `from` replace those of the study. A list of methods picks from those of the study,
with the settings that they have there; it may also name others. Name the study's `reference` and
`baseline` as well, or set them to `null`. `check` names the metrics and artefacts that the methods
do not support.

A study that is written out changes no settings: its methods have those that `shiftbench show
METHOD` prints. On the results pages, the page of each method has such a config:

```yaml
studies:
  my-study:
    title: VCL on permuted-digits
    streams:
      permuted-digits: {family: permuted-images, dataset: digits, tasks: 5}
    model: {mlp: {hidden: [100, 100]}}
    methods: [vcl]
    metrics: [accuracy, acc]
    artefacts: [score-table]
    seeds: 1
```
"""

FITS = """\
Components declare what they fit, in `FACTS` at the top of their files. `check` refuses what does
not fit, and `python -m shiftbench list KIND --for STREAM` lists what does. Below, each component
has a line with its declarations; in brackets, the settings that they depend on.
"""
AXES = """\
With `axes` the study's one stream becomes a grid of streams, one for each combination of values, as
if they were written out. An axis is a setting of the stream's family with its values; or, if
settings move together, a name with several settings, each with the same number of values:

```yaml
streams:
  digits: {family: transformed-images, tasks: 24}
axes:
  rows: {train_per_task: [25, 100], warm_up_size: [50, 200]}
  strength: [0.5, 1.0]
```

The values name a stream of the grid; of settings that move together, the first one counts:
`digits-25-0p5`, where `0p5` is 0.5 and `m3` would be -3. The artefacts `regime-...` show the grid.
Budgets and configs replace `axes` as a whole, and `axes: {}` removes them. A study with axes judges
no claims.
"""
CLAIMS = """\
By name in a file of `claims/`. The file is named by the key of the work in `docs/papers.md`, which
a hyphen and more may follow. A study judges a claim if it has a stream, the metrics and the methods
that the claim is about; if a method is there several times, the first counts. The study then has
the table `claims`, with a verdict computed from its scores, and `results/CONFIG/overview/ledger`
has the verdicts of all studies. `python -m shiftbench list claims` lists the studies that judge
each claim.
"""
WORDS = {
    "kind of problem": facts.KINDS,
    "prediction": facts.PREDICTIONS,
    "what a stream, a model or a combinator has": compatibility_words.PROPERTIES,
    "what a learner or a combinator offers": compatibility_words.OFFERS,
}

NAMED_STREAMS = "`name: {family and settings}`"
AS_WRITTEN = {
    (ConfigFile, "start"): "a path or a name",
    (ConfigFile, "budget"): "a name",
    (ConfigFile, "studies"): "a list of names, or `name: {changes}`",
    (ConfigFile, "folder"): "a path",
    (ConfigFile, "streams"): NAMED_STREAMS,
    (ConfigFile, "methods"): "`name: {keys of a method}`",
    (ConfigFile, "components"): "a folder, or a list of folders",
    (Study, "streams"): f"{NAMED_STREAMS}, or a list of names",
    (Study, "axes"): "`setting: [values]`, or `name: {setting: [values]}`",
    (Study, "methods"): "a list of names, or `name: {changes}`",
    (Study, "metrics"): "a list of one or more names",
    (Study, "words"): "a list of words",
    (Study, "tuning"): "the keys of [tuning](#tuning)",
    (Study, "configurations"): "a list of `component.key: [values]`",
    (StudyFile, "start"): "a name",
    (StudyFile, "settings"): "`component.key: value`",
    (StudyFile, "budgets"): "`name: {keys of a study}`",
    (Method, "cite"): "a list of one or more keys",
    (Method, "search"): "`component.key: [values]`",
    (Stream, "family"): "a name",
    (Tuning, "metric"): "a name",
    (Tuning, "streams"): "`setting: value`",
    (Tuning, "methods"): "`name: {component.key: [values]}`",
    (ClaimEntry, "stream"): "`setting: value`",
    (ClaimEntry, "metric"): "a name",
    (ClaimEntry, "holds"): "a predicate",
    (Holds, "value"): "`name: number`, or a number",
    (Holds, "at_least"): "`name: number`",
    (Holds, "at_most"): "`name: number`",
    (Holds, "metric_below"): "a name",
    (Holds, "metric_above"): "a name",
}
"""Forms that users write, for keys whose model holds the parsed form."""

TITLES = {
    "streams": "Stream families",
    "models": "Models",
    "learners": "Learners",
    "combinators": "Combinators",
    "metrics": "Metrics",
    "artefacts": "Artefacts",
}


def text() -> str:
    """Return the whole page, in Markdown."""
    parts = [
        HEAD,
        "## A config\n",
        _model_table(ConfigFile),
        NAMES,
        "## A study\n",
        "In `studies/NAME.yaml`, or under `studies` in a config.\n",
        _model_table(Study),
        "Beside these:\n",
        _model_table(StudyFile),
        AXES,
        "## A stream\n",
        "The settings of the family stand beside `family`; they are listed below.\n",
        _model_table(Stream),
        "## A method\n",
        "By name in a file of `methods/`; each file is about a paper or a family of papers.\n",
        _model_table(Method),
        "## Tuning\n",
        _model_table(Tuning),
        "## A claim\n",
        CLAIMS,
        _model_table(ClaimEntry),
        "`holds` has one predicate, with the keys that go with it:\n",
        _model_table(Holds),
        "`findings` is a list of errors in the paper or in its public code:\n",
        _model_table(Finding),
        *_vocabulary(),
        *_components(),
    ]
    return "\n".join(parts)


def _vocabulary() -> Iterator[str]:
    yield "## What fits\n"
    yield FITS
    about = components.documented(components.syntax_tree(Path(facts.__file__)), "Facts")
    yield "| fact | what it says |\n|---|---|"
    yield "".join(f"| `{name}` | {text.rstrip('.')} |\n" for name, (_, text) in about.items())
    for title, words in WORDS.items():
        yield f"| {title} | |\n|---|---|"
        yield "".join(f"| `{word}` | {text} |\n" for word, text in words.items())


def _components() -> Iterator[str]:
    for kind, title in TITLES.items():
        yield f"## {title}\n"
        for name in components.names(kind):
            yield f"### `{name}`\n"
            yield components.summary(kind, name) + "\n"
            needs = components.facts(kind, name).reveals
            if needs:
                yield f"Needs the study to reveal: {', '.join(needs)}.\n"
            if fits := compatibility.described(kind, name):
                yield fits + "\n"
            if kind not in ("metrics", "artefacts"):
                yield _settings_table(kind, name)


def _model_table(model: type[BaseModel]) -> str:
    rows = [
        (field.alias or name, _type(model, name), _default(field), field.description or "")
        for name, field in model.model_fields.items()
    ]
    return _table(rows)


def _type(model: type[BaseModel], name: str) -> str:
    return AS_WRITTEN.get((model, name)) or type_words.of_key(model.model_fields[name])


def _settings_table(kind: str, name: str) -> str:
    fields = components.fields(kind, name)
    if not fields:
        return "No settings.\n"
    rows = [
        (key, type_words.of_setting(kind, name, key), _literal(default), document)
        for key, (_, default, document) in fields.items()
    ]
    return _table(rows)


def _table(rows: list[tuple[str, str, str, str]]) -> str:
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, kind, default, meaning in rows:
        cells = [f"`{key}`", kind, default, meaning]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def _default(field: FieldInfo) -> str:
    return _literal(dataclasses.MISSING if field.is_required() else field.default)


def _literal(value: Any) -> str:
    if value is dataclasses.MISSING:
        return "required"
    return "" if value is None else f"`{json.dumps(value)}`"
