"""The site's pages are complete and agree with the result files, and all links work."""

from __future__ import annotations

import ast
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag

import numpy as np
import pandas as pd
import pytest
import yaml

from shiftbench.cli import main
from shiftbench.config import bibliography, components, config_file
from shiftbench.config.bibliography import FIVE
from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_files, figure_style
from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import (
    attachments,
    charts,
    collect,
    dataset_page,
    method_styles,
    pages,
    situations,
    snippet,
    standings,
    study_page,
    verdict_counts,
    writer,
)
from tests.checkout import PUBLISHED
from tests.publish.site import html
from tests.publish.site.conftest import without_bundle

STUDIES = (
    "embedded/online-regret",
    "embedded/permuted-digits",
    "embedded/uci-regression",
    "cpu/air-pollution",
    "cpu/permuted-mnist",
    "cpu/permuted-mnist-full",
    "cpu/permuted-mnist-tuning",
    "cpu/uci-regression",
)
"""Studies with one or several streams, with or without figures, tuned, and without directions."""


def copied(target: Path, *studies: str) -> Path:
    for study in studies:
        folder, name = study.split("/")
        shutil.copytree(PUBLISHED / folder / "studies" / name, target / folder / "studies" / name)
    return target


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("results"), *STUDIES)


@pytest.fixture(scope="module")
def found(results: Path) -> collect.SiteResults:
    return collect.collect(results)


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "site"
    with pytest.MonkeyPatch.context() as patch:
        without_bundle(patch)
        pages.write(results, made)
    return made


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, html.Element]:
    return {path: html.read(path) for path in site.rglob("*.html")}


@pytest.mark.long
def test_every_link_and_asset_is_there(site: Path, documents: dict[Path, html.Element]) -> None:
    anchors = {
        path: [one.attributes["id"] for one in html.everything(page) if "id" in one.attributes]
        for path, page in documents.items()
    }
    assert all(len(names) == len(set(names)) for names in anchors.values())
    for path, page in documents.items():
        for element in html.everything(page):
            for key in ("href", "src"):
                address = element.attributes.get(key, "")
                if not address or address.startswith("data:"):
                    continue
                if re.match("https?:", address):
                    assert element.tag == "a", f"{path}: {address} needs a network"
                    continue
                place, fragment = urldefrag(address)
                target = (path.parent / unquote(place)).resolve() if place else path
                assert target.is_file() and target.is_relative_to(site.resolve()), address
                if fragment:
                    assert unquote(fragment) in anchors[site / target.relative_to(site.resolve())]


@pytest.mark.long
def test_every_study_method_and_data_set_has_a_page(
    site: Path, found: collect.SiteResults, documents: dict[Path, html.Element]
) -> None:
    assert [study.place for study in found.studies] == [
        "embedded/online-regret", "embedded/uci-regression", "embedded/permuted-digits",
        "cpu/air-pollution", "cpu/permuted-mnist", "cpu/permuted-mnist-full",
        "cpu/uci-regression",
    ]  # fmt: skip
    for study in found.studies:
        page = documents[site / "studies" / f"{study.place}.html"]
        assert page.one("h1").text == study.planned.title
        text = page.one("main").text
        assert study.planned.question in text
        assert " ".join(study.planned.cuts.split()).rstrip(".") in text
    heads = {
        name: documents[site / "methods" / f"{name}.html"].one("h1").text
        for name in found.library.methods
    }
    for name, method in found.library.methods.items():
        assert heads[name] in (method.data["label"], f"{method.data['label']} {name}")
    assert heads["ewc"] == "EWC" and heads["vcl-bnn"] == "VCL vcl-bnn"
    named = documents[site / "methods.html"].one("ul", **{"class": "names"}).all("a")
    assert sorted(one.text for one in named) == sorted(heads.values())
    names = {head: name for name, head in heads.items()}
    labels = [found.library.methods[names[one.text]].data["label"] for one in named]
    assert labels == sorted(labels, key=str.casefold)
    assert len(set(heads.values())) == len(heads)
    mnist = documents[site / "datasets" / "mnist.html"].one("main").text
    assert "CC BY-SA 3.0" in mnist and "Licence statuspresumed" in mnist.replace("\n", "")
    assert "440fcabf73cc546fa21475e81ea3" in mnist
    assert "cpu/permuted-mnist: permuted-mnist (permuted-images)" in mnist


def test_files_that_shiftbench_makes_have_no_link() -> None:
    fetched = dataset_page.of("mnist")
    assert set(fetched["links"]) == set(fetched["dataset"].files)
    made = dataset_page.of("made-ngrams-2012")
    assert made["dataset"].files and not made["links"]


@pytest.mark.parametrize("place", ["embedded/online-regret", "cpu/permuted-mnist"])
def test_numbers_are_those_of_the_summary(
    site: Path, documents: dict[Path, html.Element], place: str
) -> None:
    folder, name = place.split("/")
    summary = pd.read_csv(PUBLISHED / folder / "studies" / name / "summary.csv")
    detailed = len(summary) > study_page.MOST_SCORES
    pages = sorted(site.glob(f"studies/{place}{'_scores*' if detailed else ''}.html"))
    rows = [row for one in pages for row in documents[one].one("table", id="table").all("tr")[1:]]
    cells = {
        (row.attributes["data-stream"], row.attributes["data-method"], metric): cell
        for row in rows
        for cell in row.all("td")
        if (metric := cell.attributes.get("data-metric"))
    }
    assert len(cells) == len(summary)
    for _, row in summary.iterrows():
        cell = cells[row["stream"], row["learner"], row["metric"]]
        if pd.isna(row["mean"]):
            assert cell.text == "\N{EN DASH}"
            continue
        assert float(cell.attributes["data-sort"]) == pytest.approx(row["mean"], rel=1e-5)
        shown = float(re.match(r"[-\d.e+]+", cell.text)[0])
        assert shown == pytest.approx(row["mean"], rel=1e-3, abs=1e-4) or shown == pytest.approx(
            100 * row["mean"], abs=0.006
        )


def test_a_large_table_is_one_of_methods_by_streams_on_the_page_of_its_study(
    site: Path, documents: dict[Path, html.Element]
) -> None:
    summary = pd.read_csv(PUBLISHED / "embedded/studies/online-regret/summary.csv")
    led = summary[summary["metric"] == "average_cumulative_loss"]
    means = led.pivot(index="learner", columns="stream", values="mean")
    page = documents[site / "studies/embedded/online-regret.html"]
    head, *rows = page.one("table", id="table").all("tr")
    streams = [one.text for one in head.all("th")[1:]]
    assert {row.attributes["data-method"] for row in rows} == set(means.index)
    for row in rows:
        scores = [float(cell.attributes["data-sort"]) for cell in row.all("td")]
        expected = means.loc[row.attributes["data-method"], streams]
        assert scores == pytest.approx(expected.tolist(), rel=1e-5)
    for stream, column in zip(
        streams, zip(*(row.all("td") for row in rows), strict=True), strict=True
    ):
        (best,) = [cell for cell in column if "best" in cell.attributes["class"].split()]
        assert float(best.attributes["data-sort"]) == pytest.approx(means[stream].min(), rel=1e-5)
    assert len(page.one("main").text.split()) < 1500


def test_the_reader_finds_vogn_on_permuted_mnist_in_two_clicks(
    site: Path, documents: dict[Path, html.Element]
) -> None:
    start = [link.attributes["href"] for link in documents[site / "index.html"].all("a")]
    assert "matrix/cpu.html" in start
    place = "studies/cpu/permuted-mnist-full.html"
    links = [link.attributes["href"] for link in documents[site / "matrix/cpu.html"].all("a")]
    assert f"../{place}#vogn" in links
    page = documents[site / place]
    row = page.one("tr", id="vogn")
    summary = pd.read_csv(PUBLISHED / "cpu/studies/permuted-mnist-full/summary.csv")
    ours = summary.set_index(["learner", "metric"]).loc["vogn", "acc"]
    assert row.one("td", data_metric="acc").text.startswith(f"{100 * ours['mean']:.2f}")
    assert row.one("td", data_paper="acc").text == "94.00"
    assert row.one("td", class_="runs").text == f"{ours['n']} of {ours['n']} runs"
    said = "shiftbench run config/cpu.yaml -- permuted-mnist-full"
    assert page.one("code", id="command").text == said


def test_the_start_page_is_small_and_leads_with_tuned_studies(
    site: Path, found: collect.SiteResults, documents: dict[Path, html.Element]
) -> None:
    start = documents[site / "index.html"]
    number = len({study.name for study in found.studies})
    assert number < len(found.studies) and f" in {number} studies " in start.one("body").text
    assert len(start.one("body").text.split()) < 1500
    needed = ("index.html", "assets/site.css", "assets/site.js", "assets/pages.js")
    assert sum((site / name).stat().st_size for name in needed) < 300_000
    heads = [one.text for one in start.one("table", id="board").all("th", scope="col")]
    assert heads[1].startswith("Forgetting") and heads[1].endswith("; settings tuned")
    assert "mean accuracy over all tasks after the last (%), higher is better" in heads[1]
    assert heads[2].startswith("Regression") and heads[2].endswith("settings not tuned")
    lines = [
        one.all("a")[0].attributes["href"] for one in start.one("ul", class_="holds").all("li")
    ]
    assert lines == [f"papers/{key}.html" for key in FIVE]


def test_the_board_has_the_scores_of_the_study_that_decides(
    site: Path, documents: dict[Path, html.Element]
) -> None:
    rows = documents[site / "index.html"].one("table", id="board").all("tr")[1:]
    shown = {row.one("th").text: row.all("td") for row in rows}
    summary = pd.read_csv(PUBLISHED / "cpu/studies/permuted-mnist/summary.csv")
    of_acc = summary[summary["metric"] == "acc"].set_index("learner")["mean"]
    assert shown["VOGN"][0].text == f"{100 * of_acc['vogn']:.1f}"
    assert shown["VCL + coreset"][0].text == f"{100 * of_acc['vcl-coreset-random']:.1f}★ best"
    assert shown["VOGN"][1].text == "" and "Joint" not in shown, "a bound has no rank"
    uci = pd.read_csv(PUBLISHED / "cpu/studies/uci-regression/summary.csv")
    uci = uci[(uci["metric"] == "test_log_likelihood") & (uci["learner"] == "radial")]
    assert shown["Radial"][1].text == f"\N{MINUS SIGN}{-uci['mean'].mean():.3g}★ best"


def test_the_start_page_of_results_that_decide_no_situation_shows_each_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_bundle(monkeypatch)
    monkeypatch.setattr(snippet, "of", lambda *_: None)
    results = copied(tmp_path / "results", "embedded/online-regret", "embedded/permuted-digits")
    found = pages.write(results / "embedded", tmp_path / "site")
    start = html.read(tmp_path / "site/index.html")
    assert start.one("h1").text == "Results of embedded"
    assert [one.text for one in start.all("h2")][:2] == [one.planned.title for one in found.studies]
    said = [standings.finding(one, standings.of(one)) for one in found.studies]
    assert all(text in start.one("main").text for text in said)
    assert len(start.all("img")) == 2, "the first figure of each"
    judged = {one.key for one in verdict_counts.of(found) if one.judged and one.key in FIVE}
    lines = start.one("ul", class_="holds").all("li") if judged else []
    assert {one.all("a")[0].attributes["href"] for one in lines} == {
        f"papers/{key}.html" for key in judged
    }


def test_situations_are_those_of_the_documentation(
    site: Path, found: collect.SiteResults, documents: dict[Path, html.Element]
) -> None:
    page = documents[site / "which-method.html"].one("table", id="situations")
    written = (PUBLISHED.parents[1] / "docs/which-method.md").read_text()
    for one in situations.of(found):
        (section,) = [text for text in written.split("## ") if text.startswith(one.entry.situation)]
        assert one.judged in section
        assert all(f"| {' | '.join(line)} |" in section for line in one.lines)
        assert one.lines[0].best in page.text
    links = [link.attributes["href"] for link in page.all("a")]
    assert [link for link in links if "studies/" in link] == [
        f"studies/{one.study.place}.html" for one in situations.of(found)
    ]
    assert links[1:3] == ["methods/ewc-online.html", "methods/vcl-coreset-random.html"]


def test_a_paper_is_told_line_by_line_in_its_units(
    site: Path, documents: dict[Path, html.Element]
) -> None:
    page = documents[site / "papers/eschenhagen2019vogn.html"]
    claimed = bibliography.works()["eschenhagen2019vogn"].claims
    assert page.one("p", id="claims").text == f"It claims: {claimed}"
    first = page.one("main").text
    assert "VOGN: 93.6 %; SI: 82.7 %" in first, "above SI, reproduced with all of the training"
    assert "a claim can be reproduced by a difference that is not significant" in first
    lines = sorted(site.glob("papers/eschenhagen2019vogn-lines*.html"))
    rows = [row for one in lines for row in documents[one].all("tr")]
    told = {row.all("td")[-4].text: row for row in rows if row.all("td")}
    ours = [row for text, row in told.items() if text.startswith("VOGN: 93.6 % [")]
    assert [cell.text for cell in ours[0].all("td")][-3:] == ["100 %", "3", "◆ unresolved"]
    (little,) = [row for text, row in told.items() if text.startswith("VOGN: 75.9 % [")]
    assert little.all("td")[-4].attributes["class"] == "muted"
    assert "withheld" not in documents[site / "methods/vogn.html"].text


def test_a_method_says_what_it_is_and_why_its_numbers_differ(
    site: Path, documents: dict[Path, html.Element]
) -> None:
    page = documents[site / "methods/vogn.html"]
    assert page.one("pre", id="equation").text.startswith("precision <- (1 - beta) precision")
    (said,) = [one.text for one in page.one("ul", id="reconciled").all("li") if "mnist" in one.text]
    assert "75.92 % in cpu/permuted-mnist (cpu; tuned with" in said
    assert "93.61 % in cpu/permuted-mnist-full (cpu; not tuned; all of the paper" in said
    assert said.endswith("The paper prints 94.00 %.")
    assert "100 passes over each task" in page.text and "times a step of Adam" in page.text


def test_every_method_that_runs_has_an_equation_of_its_outermost_component(
    documents: dict[Path, html.Element], found: collect.SiteResults
) -> None:
    runs = {name for name, one in found.library.methods.items() if one.data.get("pipeline")}
    pages = {path.stem: page for path, page in documents.items() if path.parent.name == "methods"}
    shown = {name: pages[name].all("pre", id="equation") for name in runs}
    assert len(runs) > 150 and [name for name in runs if not shown[name]] == []
    assert shown["vbs-k3"][0].text.startswith("prior(w | s = 0) = q(w)")
    assert shown["vcl"][0].text.startswith("E_q log p(rows | w)")


def test_the_python_of_a_page_is_its_config(documents: dict[Path, html.Element]) -> None:
    for path, page in documents.items():
        for code in page.all("code", class_="python"):
            calls = [one.value for one in ast.parse("".join(code.pieces)).body[1:3]]
            (family,), settings = ([ast.literal_eval(one) for one in calls[0].args], calls[0])
            stream = {"family": family, **arguments(settings)}
            study = yaml.safe_load(snippets({path: page})[path.stem])["studies"]["my-study"]
            assert [stream] == list(study["streams"].values())
            given = {"methods": ast.literal_eval(calls[1].args[0]), **arguments(calls[1])}
            assert given == {key: study[key] for key in given} and len(given) > 2


def arguments(call: ast.Call) -> dict[str, object]:
    return {one.arg: ast.literal_eval(one.value) for one in call.keywords}


def test_numbers_of_papers_that_train_more_say_how_much_less_we_train(
    site: Path, documents: dict[Path, html.Element]
) -> None:
    page = documents[site / "studies/cpu/permuted-mnist.html"]
    row = page.one("tr", id="vogn")
    assert "0.01 of the paper's training" in row.one("td", data_paper="acc").text
    claims = documents[site / "studies/cpu/permuted-mnist_claims.html"]
    assert "94.0 ± 0.8" in claims.one("main").text
    assert "vogn.alpha: 0.03" in row.text


def test_pages_can_be_read_without_seeing_them(documents: dict[Path, html.Element]) -> None:
    for path, page in documents.items():
        elements = html.everything(page)
        levels = [int(one.tag[1]) for one in elements if re.fullmatch("h[1-6]", one.tag)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), path
        for table in page.all("table"):
            assert table.one("caption").text
            assert all(cell.attributes["scope"] in ("col", "row") for cell in table.all("th"))
        assert all(len(picture.attributes["alt"]) > 40 for picture in page.all("img"))
        labelled = [one for label in page.all("label") for one in html.everything(label)]
        controls = [one for one in elements if one.tag in ("select", "input")]
        assert all(any(one is control for one in labelled) for control in controls)


def test_a_finding_is_that_of_the_scores(tmp_path: Path) -> None:
    place = copied(tmp_path, "embedded/permuted-digits") / "embedded"
    before = _finding(place)
    assert before.startswith("On permuted-digits, VCL has the best average accuracy of 7 methods")
    assert before.endswith("(settings not tuned alike; From scratch and Joint not ranked).")
    path = place / "studies/permuted-digits/scores.csv"
    scores = pd.read_csv(path)
    ewc = (scores["learner"] == "ewc") & (scores["metric"] == "acc")
    scores.loc[ewc, "score"] = [0.991, 0.992, 0.993]
    scores.to_csv(path, index=False)
    assert _finding(place).startswith(
        "On permuted-digits, EWC has the best average accuracy of 7 methods"
    )


def test_a_finding_without_scores_of_seeds_says_so(tmp_path: Path) -> None:
    place = copied(tmp_path, "embedded/permuted-digits") / "embedded"
    (place / "studies/permuted-digits/scores.csv").unlink()
    assert "these results have no scores.csv" in _finding(place)


def _finding(results: Path) -> str:
    found = collect.collect(results)
    (study,) = found.studies
    return standings.finding(study, standings.of(study))


def test_findings_say_what_cannot_be_known(found: collect.SiteResults) -> None:
    said = {study.place: standings.finding(study, standings.of(study)) for study in found.studies}
    assert "BOCPD has the best squared error" in said["cpu/air-pollution"], "no change is known"
    regret = said["embedded/online-regret"]
    assert regret.startswith(
        "NGVI has the best average cumulative loss on 3 of 6 streams, OGA on 2"
    )
    assert all(text.endswith(".") and text.count(". ") == 0 for text in said.values())


def test_equal_scores_lead_together_and_none_of_them_is_behind(tmp_path: Path) -> None:
    cell = ranking.rank("series", {"a": np.ones(1), "b": np.ones(1), "c": np.zeros(1)}, "cover")
    known = standings.Standings("cover", {"series": cell}, [])
    states = {name: known.of_method(name).state for name in "abc"}
    assert states == {"a": standings.BEST, "b": standings.TIED, "c": standings.UNKNOWN}
    said = _finding(copied(tmp_path, "cpu/annotated-series"))
    assert "with equal scores count for each" in said
    assert "one seed cannot compare methods" in said
    assert _finding(copied(tmp_path / "other", "embedded/toy-ar")).startswith(
        "On toy-ar, BOCPD, Robust BOCPD and Robust run lengths share the best F1 of 3 methods"
    )


def test_a_study_is_ranked_by_the_metric_of_its_situation(tmp_path: Path) -> None:
    found = collect.collect(copied(tmp_path, "cpu/alarm-curves"))
    (study,) = found.studies
    said = standings.finding(study, standings.of(study, "alarm_area"))
    assert said.startswith("Shiryaev-Roberts has the best area under the alarm curve")


def test_a_chart_begins_with_a_stream_that_has_scores(tmp_path: Path) -> None:
    (study,) = collect.collect(copied(tmp_path, "cpu/alarm-curves")).studies
    scores = study.scores
    assert scores is not None
    scored = {*scores.loc[(scores["metric"] == "alarm_area") & scores["score"].notna(), "stream"]}
    assert study.streams[0] not in scored, "no change is due there"
    styles = method_styles.of_study(study.planned, study.methods)
    chart = charts.chart(study, "alarm_area", styles)
    assert chart is not None
    assert chart["names"]["stream"][0] in scored
    assert {*chart["names"]["stream"]} == {*study.streams}


@pytest.mark.long
def test_metrics_without_a_number_are_left_out_and_none_leads_that_has_no_direction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(tmp_path, "cpu/air-pollution") / "cpu/studies/air-pollution/summary.csv"
    (study,) = collect.collect(tmp_path).studies
    assert "f1" in set(study.summary["metric"]) and "f1" not in study.metrics
    table = pd.read_csv(path)
    table[table["metric"].isin(["n_changepoints", "f1"])].to_csv(path, index=False)
    assert _finding(tmp_path).startswith("No metric here says which method is better")
    table.assign(mean=float("nan")).to_csv(path, index=False)
    (study,) = collect.collect(tmp_path).studies
    assert study.metrics == list(dict.fromkeys(table["metric"])), "every run failed"
    without_bundle(monkeypatch)
    monkeypatch.setattr(snippet, "of", lambda *_: None)
    pages.write(tmp_path, tmp_path / "site")


def test_bounds_and_what_seeds_do_not_tell_apart_have_no_wrong_rank(
    found: collect.SiteResults,
) -> None:
    study = next(one for one in found.studies if one.place == "cpu/permuted-mnist")
    known = standings.of(study)
    assert known.bounds == ["independent", "joint"]
    assert (
        known.of_method("joint").state == standings.BOUND and known.of_method("joint").shown == ""
    )
    assert known.of_method("vcl-coreset-random") == (1, 11, standings.BEST)
    assert known.of_method("vcl-improved").state == standings.TIED
    assert known.of_method("si").state == standings.UNCLEAR, "four points behind, on five seeds"
    assert known.of_method("vogn").state == standings.BEHIND


def test_the_chart_has_every_score_and_the_looks_of_the_figures(found: collect.SiteResults) -> None:
    study = next(one for one in found.studies if one.place == "cpu/permuted-mnist")
    made = charts.chart(study, "acc", method_styles.of_study(study.planned, study.methods))
    assert made["units"]["acc"] == "%"
    names, shown = made["names"], {}
    for stream, method, metric, scores in made["rows"]:
        for seed, score in zip(made["seeds"], scores, strict=True):
            if score is not None:
                named = names["stream"][stream], names["method"][method], names["metric"][metric]
                shown[*named, seed] = score / (100 if made["units"][named[2]] == "%" else 1)
    rows = study.scores[study.scores["score"].notna()]
    places = rows["stream"], rows["learner"].map(study.label), rows["metric"], rows["seed"]
    known = dict(zip(zip(*places, strict=True), rows["score"], strict=True))
    assert shown == pytest.approx(known, rel=1e-5)
    colour = made["spec"]["layer"][0]["encoding"]["color"]["scale"]
    assert dict(zip(colour["domain"], colour["range"], strict=True))["VOGN"] == "#029e73"


def snippets(pages: dict[Path, html.Element]) -> dict[str, str]:
    """Return the example config of each method that has one."""
    return {
        path.stem: "".join(code.pieces)
        for path, page in pages.items()
        for code in page.all("code", class_="snippet")
    }


def settings_of(page: html.Element) -> list[tuple[str, dict[str, object]]]:
    """Return the components and their settings on a method's page."""
    found: list[tuple[str, dict[str, object]]] = []
    text = "".join(page.one("pre", id="settings").pieces)
    for line in text.replace("\n    ", " ").splitlines():  # defaults may span several lines
        if defaults := re.fullmatch(r"  defaults: (.*)", line):
            pairs = (one.split(": ", 1) for one in defaults[1].split("; "))
            found[-1][1].update({key: json.loads(value) for key, value in pairs})
        elif setting := re.match(r"  (\w+): (.*?)  ", line):
            found[-1][1][setting[1]] = json.loads(setting[2])
        elif re.fullmatch(r"[a-z-]+", line):
            found.append((line, {}))
    return found


def test_each_snippet_is_one_study_of_the_method_of_its_page(
    documents: dict[Path, html.Element], found: collect.SiteResults, tmp_path: Path
) -> None:
    texts = snippets(documents)
    without = found.library.methods.keys() - texts.keys()
    lacking = {name for name in without if not found.library.methods[name].get("pipeline")}
    assert without == lacking
    studies = {name: yaml.safe_load(text)["studies"]["my-study"] for name, text in texts.items()}
    path = tmp_path / "all.yaml"
    path.write_text(json.dumps({"studies": studies}))
    planned = config_file.load(path).studies
    shown = {path.stem: page for path, page in documents.items() if path.parent.name == "methods"}
    for name, text in texts.items():
        data = yaml.safe_load(text)
        assert list(data) == ["studies"] and list(data["studies"]) == ["my-study"]
        assert list(planned[name].methods) == [name]
        assert planned[name].pipelines[name] == settings_of(shown[name]), name


def test_a_page_says_where_the_settings_for_its_stream_are(
    documents: dict[Path, html.Element], capsys: pytest.CaptureFixture
) -> None:
    pages_of = {path.stem: page.one("main") for path, page in documents.items()}
    said = "shiftbench show vbs-k3 --study transformed-digits --config config/embedded.yaml"
    assert said in [code.text for code in pages_of["vbs-k3"].all("code")]
    assert main.main(said.split()[1:]) == 0
    assert "in the study transformed-digits" in capsys.readouterr().out
    assert "shiftbench show" not in pages_of["vmg"].text, "it is quoted, and no study runs it"


@pytest.mark.long
def test_each_snippet_is_accepted_alone(
    documents: dict[Path, html.Element], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    for name, text in snippets(documents).items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        assert main.main(["check", str(path)]) == 0, capsys.readouterr().err
        assert len(config_file.load(path).studies) == 1


def test_text_cannot_end_a_script() -> None:
    hostile = {"label": "</script><script>alert(1)</script>"}
    text = writer._json(hostile)
    assert "<" not in text and json.loads(text) == hostile


def test_drawings_are_in_the_site_unless_together_they_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = collect.collect(copied(tmp_path / "results", "embedded/permuted-digits"))
    source, *_ = found.drawings
    assert len(found.drawings) == 2 and source.stat().st_size > 100_000
    assert attachments.has_svg(found), "an ordinary study has all of its drawings"
    picture = source.with_suffix(".png")
    made = attachments.figure(picture, tmp_path / "site", "figures", "words", True)
    assert (tmp_path / "site" / made.svg).read_bytes() == source.read_bytes()
    assert (tmp_path / "site" / made.picture).stat().st_size < 0.4 * picture.stat().st_size
    size = sum(path.stat().st_size for path in found.drawings)
    monkeypatch.setattr(attachments, "MOST_SVG", size - 1)
    assert not attachments.has_svg(found)
    assert attachments.figure(picture, tmp_path / "site", "figures", "words", False).svg == ""


def test_the_site_of_the_published_results_stays_small_without_drawings() -> None:
    assert not attachments.has_svg(collect.collect(PUBLISHED))


def test_a_large_table_is_packed_and_is_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = collect.collect(copied(tmp_path / "results", "embedded/permuted-digits")).studies[0]
    monkeypatch.setattr(attachments, "LARGEST_TABLE", 100_000)
    assert attachments.downloads(study, tmp_path / "whole")[-1].endswith("/scores.csv")
    monkeypatch.setattr(attachments, "LARGEST_TABLE", 10)
    packed = tmp_path / "site" / attachments.downloads(study, tmp_path / "site")[-1]
    assert packed.name == "scores.csv.gz"
    pd.testing.assert_frame_equal(pd.read_csv(packed), study.scores)


@pytest.mark.long
def test_an_alternative_text_begins_with_what_the_figure_says(tmp_path: Path) -> None:
    of = collect.collect(copied(tmp_path / "results", "embedded/transformed-digits"))
    (study,) = of.studies
    found = attachments.figures(study, standings.of(study), tmp_path / "site")
    (made,) = [one for one in found if one.name == "relative-accuracy"]
    said = r"digits: of \d+ methods, \d+ are above VCL and \d+ below \(95 % intervals, not"
    assert re.match(rf"{said} corrected\); ", made.alt)
    assert "Accuracy over tasks relative to the baseline" in made.alt


def test_the_gallery_shows_each_kind_of_figure_once(
    site: Path, found: collect.SiteResults, documents: dict[Path, html.Element]
) -> None:
    drawn = {one.place: {path.stem for path in drawings(one)} for one in found.studies}
    sections = documents[site / "gallery.html"].all("section")
    assert [one.one("h2").text for one in sections] == sorted(set().union(*drawn.values()))
    for section in sections:
        kind = section.one("h2").text
        (place, *_), image = [key for key, kinds in drawn.items() if kind in kinds], "img"
        assert section.one(image).attributes["src"] == f"figures/{place}/{kind}.webp"
        assert {link.attributes["href"] for link in section.all("a")} == {
            f"studies/{place}.html#figures"
        }
        summary = components.summary("artefacts", kind)
        assert section.all("p")[0].text == bibliography.in_words(summary)


def drawings(study: collect.SiteStudy) -> list[Path]:
    return sorted((study.folder / "figures").glob("*.png"))


def test_a_figure_has_its_whole_caption_below_it(tmp_path: Path) -> None:
    caption = "What the marks are; " + 20 * "and what they rest on <exactly> & alike, "
    drawn = figure_style.figure(1.0, caption)
    figure_files.save(drawn, tmp_path / "one", caption)
    made = attachments.figure(tmp_path / "one.png", tmp_path / "site", "figures", "in short")
    page = writer._environment().from_string(
        "{% import 'macros.html' as m with context %}{{ m.figure('', one) }}"
    )
    (tmp_path / "page.html").write_text(page.render(one=made))
    figure = html.read(tmp_path / "page.html").one("figure")
    told = figure.one("p", id=figure.one("img").attributes["aria-describedby"])
    assert told.text == " ".join(caption.split())


def test_a_site_replaces_a_site_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    results = copied(tmp_path / "results", "embedded/permuted-digits") / "embedded"
    monkeypatch.setattr(pages, "_fill", lambda site, *_: _mark(site))
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years of work")
    with pytest.raises(UserError, match="is not a site"):
        pages.write(results, other)
    assert [path.name for path in other.iterdir()] == ["chapter.txt"]
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main.main(["site", str(results)]) == 0
    assert "1 study: site/index.html" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "site", "thesis"]


def _mark(site: Path) -> None:
    (site / "assets").mkdir(parents=True)
    (site / "assets" / "site.css").touch()


@pytest.mark.parametrize(
    "place, said", [("nowhere", "no such folder"), ("", "no study is finished")]
)
def test_without_results_nothing_is_written(
    tmp_path: Path, place: str, said: str, capsys: pytest.CaptureFixture
) -> None:
    assert main.main(["site", str(tmp_path / place), "--to", str(tmp_path / "site")]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_results_of_a_config_that_is_nowhere_ask_for_its_file(tmp_path: Path) -> None:
    shutil.copytree(PUBLISHED / "embedded/studies/nile", tmp_path / "mine/studies/nile")
    with pytest.raises(UserError, match=r"no config/mine\.yaml; name its file with --config"):
        collect.collect(tmp_path / "mine")
    path = tmp_path / "configs" / "mine.yaml"
    path.parent.mkdir()
    path.write_text("budget: embedded\nstudies: [nile]\n")
    methods = path.with_name("methods") / "own.yaml"
    methods.parent.mkdir()
    methods.write_text(
        "own: {label: Own, cite: [li2021vbs], summary: Own., pipeline: [bayes-linear]}\n"
    )
    found = collect.collect(tmp_path / "mine", [path])
    (study,) = found.studies
    assert "own" in found.library.methods
    assert study.place == "mine/nile" and study.plan.path == path


def test_results_that_are_not_published_have_their_costs(tmp_path: Path) -> None:
    place = tmp_path / "embedded"
    shutil.copytree(PUBLISHED / "embedded/studies/nile", place / "studies/nile")
    (place / "studies/nile/provenance.json").unlink()
    cost = {"cpu_seconds": 36.0, "processor": "one", "versions": {"numpy": "2"}}
    path = place / "runs/nile/nile/standard/0-0.cost.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(cost))
    (study,) = collect.collect(place).studies
    facts = study_page.facts(study)
    assert facts["Cost"] == "0.01 core-hours."
    assert facts["Made by"] == "runs: 1; on one; numpy 2."


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        (None, "0.25 core-hours"),
        (0.0, "0.25 core-hours, and under 0.001 of trials of settings"),
        (1.5, "0.25 core-hours, and 1.5 of trials of settings"),
    ],
)
def test_trials_that_cost_little_are_named(trials, said):
    study = SimpleNamespace(origin={"core_hours": 0.25}, trial_hours=trials)
    assert study_page._cost(study) == said
