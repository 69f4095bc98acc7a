"""Methods, studies and claims for people to look up: whose they are, and what they consist of."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from shiftbench.config import bibliography, components, config_checks
from shiftbench.config import claims as ledger
from shiftbench.config.composition import Composition
from shiftbench.config.library import Library, Part
from shiftbench.config.schema import Component, Config, Study, one_component
from shiftbench.config.tuning import TRIALS
from shiftbench.core import checkout
from shiftbench.core.suggestions import refuse_unknown

WIDTH = 100
"""Characters of a line about a study, unless it is a command."""


def methods(library: Library) -> dict[str, str]:
    """A line on each method: its papers, what it is, and what it lacks, if something."""
    used = _used(library)
    return {
        name: f"{_papers(method)}: {method.data['summary']}{_lacks(name, method, used)}"
        for name, method in sorted(library.methods.items())
    }


def method(library: Library, name: str) -> str:
    """A method with all its settings. UserError for an unknown name."""
    refuse_unknown("method", name, library.methods)
    found = library.methods[name]
    lacks = _lacks(name, found, _used(library))
    lines = [*_head(name, found.data["label"], found), *([f" {lacks}"] if lacks else [])]
    place = f"{found.document.path.name}: {found.data.get('origin', '')}".rstrip(": ")
    for kind, item in config_checks.by_kind(found.data.get("pipeline") or []):
        component, settings = one_component(item)
        lines += _component(kind, (component, settings), dict.fromkeys(settings, place))
    return "\n".join(lines)


def study_method(made: Composition, study: str, name: str) -> str:
    """A method as a study of a config has it, with the file and line of each setting.

    UserError for an unknown study or method.
    """
    refuse_unknown("study", study, made.data["studies"])
    known = made.data["studies"][study]["methods"]
    refuse_unknown("method", name, known)
    own = made.library.methods.get(known[name].get("method"))
    lines = _head(name, known[name]["label"], own) if own else [name]
    lines.append(f"in the study {study}")
    for position, (kind, item) in enumerate(config_checks.by_kind(known[name]["pipeline"])):
        component, settings = one_component(item)
        place = ("studies", study, "methods", name, "pipeline", position, component)
        written = {}
        for key in settings:
            document, where = made.origin((*place, key))
            written[key] = f"{document.path.name}, line {document.line(where)}"
        lines += _component(kind, (component, settings), written)
    return "\n".join(lines)


def study(made: Composition, plan: Config, name: str, published: Path) -> str:
    """A study of a config: what it asks and compares, what it cost, and how to run it.

    published: the folder of all published results, which need not be there. UserError for an
    unknown name.
    """
    refuse_unknown("study", name, plan.studies)
    found, path = plan.studies[name], made.document.path
    rows = {
        "streams": ", ".join(f"{one} ({plan.streams[one].family})" for one in found.streams),
        "methods": ", ".join(found.methods),
        "metrics": ", ".join(found.metrics),
        "artefacts": ", ".join(found.artefacts) or "none",
        "seeds": str(found.seeds),
        "budget": _budget(made, name),
        "reduced": " ".join(found.cuts.split()) or "nothing",
        "tuning": _tuning(found),
        "cost": _cost(published / path.stem / "studies" / name),
    }
    commands = {
        "run it": command(name, path),
        "a method": f"shiftbench show METHOD --study {name} --config {path.as_posix()}",
    }
    lines = [f"{name}: {found.title}", *([f"  {found.question}"] if found.question else [])]
    for key, text in rows.items():
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=f"  {key:10}",
            subsequent_indent=" " * 12,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, *(f"  {key:10}{text}" for key, text in commands.items())])


def command(study: str, config: Path) -> str:
    """The command that runs one study of a config."""
    snakemake = (
        'snakemake -s "$(shiftbench snakefile)"' if checkout.INSTALLED else ".venv/bin/snakemake"
    )
    return f"{snakemake} {study} --configfile {config.as_posix()}"


def claims(config: Config) -> dict[str, str]:
    """A line on each claim: who says what, where, and which studies of the config judge it."""
    judged = {study: ledger.of_study(config, study) for study in config.studies}
    return {
        name: f"{bibliography.short(claim.work)}, {claim.where}: {claim.says} "
        f"({', '.join(study for study, found in judged.items() if name in found) or 'no study'})"
        for name, claim in config.claims.items()
    }


def _budget(made: Composition, study: str) -> str:
    """The budget of a study, and the file that it stands in."""
    study = study.removesuffix(TRIALS)
    document, _ = made.origin(("studies", study))
    return f"{made.budgets.get(study, 'none')} (in {document.path.name})"


def _tuning(study: Study) -> str:
    if (tuning := study.tuning) is None:
        return "none"
    seeds = f"{tuning.seeds} seed{'s' * (tuning.seeds > 1)}"
    return f"{tuning.trials} trials of each method, by {tuning.metric}, with {seeds} each"


def _cost(published: Path) -> str:
    """The core-hours of a study and of its trials, by the folder where it is published."""
    hours = {
        words: json.loads(path.read_text(encoding="utf-8")).get("core_hours")
        for words, folder in (("", published), (" of trials", _trials(published)))
        if (path := folder / "provenance.json").is_file()
    }
    known = [f"{number:.3g} core-hours{words}" for words, number in hours.items() if number]
    return f"{', '.join(known)}, as published" if known else "not published; see `shiftbench plan`"


def _trials(study: Path) -> Path:
    return study.with_name(study.name + TRIALS)


def _head(name: str, label: str, method: Part) -> list[str]:
    return [
        f"{name}: {label}",
        f"  {method.data['summary']}",
        f"  {_papers(method)}",
    ]


def _papers(method: Part) -> str:
    known = bibliography.works()
    return ", ".join(known[key].short if key in known else key for key in method.data["cite"])


def _lacks(name: str, method: Part, used: set[str]) -> str:
    if missing := method.data.get("missing"):
        return f" (cannot run yet: {missing.rstrip('.')})"
    return "" if name in used else " (no study yet)"


def _used(library: Library) -> set[str]:
    """The methods that a study of the library names."""
    files = [file for name in library.studies() if (file := library.study(name))]
    budgets = [one for file in files if (part := file.get("budgets")) for _, one in part.items()]
    lists = [named for part in (*files, *budgets) if (named := part.get("methods"))]
    entries = [entry for named in lists for entry in named.named()]
    return {str(source.data) if (source := one.get("from")) else name for name, one in entries}


def _component(kind: str, component: Component, written: dict[str, str]) -> list[str]:
    """A component with all its settings, one a line."""
    name, settings = component
    filled = components.check(kind, name, settings)
    texts = {key: document for key, (_, _, document) in components.fields(kind, name).items()}
    said = {key: written.get(key) or f"default. {texts[key]}" for key in filled}
    values = {key: f"{key}: {json.dumps(value)}" for key, value in filled.items()}
    width = max(map(len, values.values()), default=0)
    return [name, *(f"  {values[key]:{width}}  {said[key]}" for key in filled)]
