"""`shiftbench test` refuses each faulty part with a clear message, and tests the others."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests import forked
from tests.checkout import ROOT
from tests.contract.faulty_learners import CRASHES, ENDLESS
from tests.contract.faulty_parts import FAMILIES, SAID
from tests.contract.good_parts import GOOD, LAST_VALUE

CRASHING = {name: fault.apply(LAST_VALUE) for name, fault in CRASHES.items()}
ENDING_LATE = {name: fault.apply(LAST_VALUE) for name, fault in ENDLESS.items()}
WORDS = SAID | {name: fault.said for name, fault in (CRASHES | ENDLESS).items()}


def tried(folder: Path, parts: dict[str, dict[str, str]], *options: str, status: int = 1) -> str:
    """Write parts to a folder, run the verb `test` beside it, and return its output."""
    for kind, texts in parts.items():
        (folder / kind).mkdir(parents=True)
        for name, text in texts.items():
            file = folder / kind / f"{name.replace('-', '_')}.py"
            file.write_text(text.replace("NAME", name).replace("HERE", str(folder.parent)))
    (folder.parent / "there").write_text("kept")
    call = "shiftbench", "test", str(folder), *options
    done = forked.python(*call, cwd=folder.parent, source=ROOT / "src")
    assert done.returncode == status, done.stdout[-300:]
    beside = sorted(path.name for path in folder.parent.iterdir())
    assert beside == sorted([folder.name, "there"]), "a part has written beside its folder"
    return done.stdout


def verdicts(said: str, folder: Path) -> dict[str, str]:
    """Return the outcome for each part: refused clearly, traceback, hang or accepted."""
    found = {}
    for block in re.split(r"^(?=FAILS|passes)", said, flags=re.MULTILINE)[1:]:
        verdict, _, name, file = block.split(maxsplit=4)[:4]
        assert name not in found, f"{name} is there twice"
        expected = WORDS.get(name, "").replace("HERE", str(folder.parent))
        clear = verdict == "FAILS" and expected in block and str(folder) in file
        found[name] = "refused clearly" if clear else f"accepted: {block}"
        if "Traceback" in block:
            found[name] = f"traceback: {block}"
        elif "no end in" in block and "no end in" not in expected:
            found[name] = f"hang: {block}"
    return found


@pytest.mark.long
def test_the_good_parts_are_kept_with_what_stops_the_others_beside_them(tmp_path) -> None:
    """Each of the crashing parts ends Python or is killed."""
    folder = tmp_path / "some_parts"
    found = verdicts(tried(folder, GOOD | {"learners": GOOD["learners"] | CRASHING}), folder)
    bad = {name: verdict for name, verdict in found.items() if name in CRASHING}
    assert bad == dict.fromkeys(CRASHING, "refused clearly")
    assert all(
        text.startswith("accepted: passes") for name, text in found.items() if name not in bad
    )
    assert len(found) == len(CRASHING) + sum(map(len, GOOD.values()))


@pytest.mark.long
def test_a_folder_without_parts_is_an_error_with_the_remedy(tmp_path) -> None:
    said = tried(tmp_path / "no_parts", {"learners": {}}, status=2)
    assert f"{tmp_path / 'no_parts'} has no parts to test: write one as a Python file" in said


def test_scores_of_runs_and_figures_are_made_in_a_small_study(tmp_path) -> None:
    folder = tmp_path / "few_parts"
    of_words = '"""A figure of words."""\nfrom shiftbench.core.facts import Facts\n\n'
    of_words += 'FACTS = Facts(takes="word")\n\ndef draw(study): ...\n\ndef caption(study): ...\n'
    artefacts = {"good": GOOD["artefacts"]["score-over-time"], "words": of_words}
    artefacts["bad"] = FAMILIES["artefacts"]["figure-raises"]
    said = tried(folder, {"artefacts": artefacts})
    assert re.search(r"^passes artefacts good .*checks$", said, re.MULTILINE)
    assert "\nwords was not tried on results: no small study of ours fits it.\n" in said
    failed = r"^FAILS +artefacts bad .*:\n +- In a .* KeyError: 'x' \(/.*/bad.py, line 16\)$"
    assert re.search(failed, said, re.MULTILINE)


def test_declarations_that_end_python_are_an_error(tmp_path) -> None:
    text = LAST_VALUE.replace("= 1.0", "= __import__('os')._exit(0)")
    said = tried(tmp_path / "few_parts", {"learners": {"last": text}}, status=2)
    assert "Its declarations can be read: Python ended, with the exit status 0" in said


@pytest.mark.long
def test_what_has_no_end_is_ended_and_named_with_its_line(tmp_path) -> None:
    folder = tmp_path / "slow_parts"
    found = verdicts(said := tried(folder, {"learners": ENDING_LATE}, "--limit", "5"), folder)
    assert found == dict.fromkeys(ENDING_LATE, "refused clearly"), said
    for name in ("loops", "loops-at-import", "sleeps"):
        assert re.search(rf"{name.replace('-', '_')}\.py, line \d+\)\.$", said, re.MULTILINE), said


@pytest.mark.long
@pytest.mark.parametrize("kind", FAMILIES)
def test_faulty_parts_are_refused_in_clear_words(tmp_path, kind) -> None:
    folder = tmp_path / "faulty_parts"
    found = verdicts(said := tried(folder, {kind: FAMILIES[kind]}), folder)
    assert found.keys() == FAMILIES[kind].keys()
    print(f"{kind}: {len(found)} tried;", Counter(one.partition(":")[0] for one in found.values()))
    wrong = [one for one in found.values() if one != "refused clearly"]
    assert not wrong, "\n".join(wrong)
    assert "Traceback" not in said
