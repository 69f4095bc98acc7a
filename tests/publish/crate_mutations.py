"""Mutations of a small crate, each of which `verify` has to find or may ignore."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

from tests.publish.hostile_crates import (
    CONFIG,
    COST,
    INIT,
    METADATA,
    ORIGIN,
    SCORES,
    STORE,
    STREAM,
    SUMMARY,
    SUMS,
    TABLE,
    Mutation,
    bind,
    in_node,
    in_spec,
    in_zip,
    of_kind,
    pack,
    randomly,
    replaced,
    with_json,
    write,
)


def _each(name: str, *documents: str) -> list[Mutation]:
    """Return one mutation per text, which replaces a file by it."""
    return [
        Mutation(f"{name} is {text[:20]!r}", lambda crate, text=text: write(crate / name, text))
        for text in documents
    ]


def _without(*patterns: str) -> Mutation:
    def change(crate: Path) -> None:
        for pattern in patterns:
            for path in crate.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return Mutation(f"without {', '.join(patterns)}", change)


def _renamed(old: str, new: str) -> Mutation:
    def change(crate: Path) -> None:
        (crate / new).parent.mkdir(parents=True, exist_ok=True)
        (crate / old).rename(crate / new)

    return Mutation(f"{old} becomes {new}", change)


def _raw_name(crate: Path) -> None:
    Path(os.fsdecode(os.fsencode(crate) + b"/runs/\xff\xfe.txt")).write_text("x")


def _many_files(crate: Path) -> None:
    for number in range(3000):
        (crate / f"studies/{number}").mkdir()


def _double_member(crate: Path) -> None:
    with zipfile.ZipFile(crate / STORE) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    pack(crate / STORE, [*members, members[0]])


def _bomb(members: dict[str, bytes]) -> None:
    """Write a frame of a few bytes that claims 16 EB."""
    frame = bytearray(b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 7 + b"\x0f" + b"\x01\x00\x00")
    members["score/c/0/0/0"] = bytes(frame)


def _large(members: dict[str, bytes]) -> None:
    node = json.loads(members["score/zarr.json"])
    node["shape"] = [1, 2, 10**12]
    members["score/zarr.json"] = json.dumps(node).encode()


FILES = [
    Mutation("a link beside the files", of_kind("x", lambda path: path.symlink_to("/etc/passwd"))),
    Mutation("a link to a folder", of_kind("runs/x", lambda path: path.symlink_to("/etc"))),
    Mutation("a circle of links", of_kind("runs/x", lambda path: path.symlink_to(".."))),
    Mutation(
        "a link in place of a run", of_kind(STORE, lambda path: path.symlink_to("2-3.zarr.zip"))
    ),
    Mutation("a broken link", of_kind("studies/x", lambda path: path.symlink_to("nowhere"))),
    Mutation("the metadata are a link", of_kind(METADATA, lambda path: path.symlink_to("nowhere"))),
    Mutation(
        "the sums are a link", of_kind(SUMS, lambda path: path.symlink_to("/dev/zero")), False
    ),
    Mutation("a pipe", of_kind("runs/pipe", os.mkfifo)),
    Mutation("a pipe as config", of_kind(CONFIG, os.mkfifo)),
    Mutation("a pipe as store", of_kind(STORE, os.mkfifo)),
    Mutation("a socket", of_kind("runs/socket", bind)),
    Mutation("a folder as store", of_kind(STORE, Path.mkdir)),
    Mutation("a folder as metadata", of_kind(METADATA, Path.mkdir)),
    Mutation("a folder as sums", of_kind(SUMS, Path.mkdir), False),
    Mutation("bytes as a name", _raw_name),
    Mutation("a name with escapes", of_kind("runs/\x1b[2J", lambda path: path.write_text("x"))),
    Mutation("a name of two lines", of_kind("runs/a\nb", lambda path: path.write_text("x"))),
    Mutation("a name with backslashes", of_kind("runs/..\\..\\x", Path.touch)),
    Mutation("two names but for case", of_kind("STUDIES/toy/summary.csv", Path.touch)),
    Mutation(
        "two spellings of a letter",
        lambda crate: [(crate / "config" / name).touch() for name in ("\u00e9", "e\u0301")],
    ),
    Mutation("3,000 folders", _many_files, harmless=True),
    Mutation("a hidden file", of_kind("runs/.x", Path.touch)),
    Mutation("a store too many", of_kind("runs/toy/steps/plain/4-5.zarr.zip", Path.touch)),
    Mutation("a study too many", of_kind("studies/toys/summary.csv", Path.touch)),
    Mutation("a table too many", of_kind("studies/toy/tables/more.csv", Path.touch)),
    Mutation("a file at the top", of_kind("setup.cfg", Path.touch)),
    Mutation(
        "a hard link",
        lambda crate: os.link(crate / SUMMARY, crate / "config/summary.csv"),
        harmless=True,
    ),
    _without("studies/toy"),
    _without("runs"),
    _without("runs/toy/steps/plain"),
    _without(STORE),
    _without(COST),
    _without("streams/steps.zarr.zip"),
    _without("streams"),
    _without(SCORES),
    _without(ORIGIN),
    _without(CONFIG),
    _without("config"),
    _without(f"{TABLE}.md"),
    _without("studies", "runs"),
    _without("README.md"),
    _renamed("studies/toy", "studies/game"),
    _renamed("runs/toy/steps", "runs/toy/stairs"),
    _renamed("runs/toy/steps/plain", "runs/toy/steps/plainer"),
    _renamed(STORE, "runs/toy/steps/plain/0-0.zarr.zip"),
    _renamed(SUMMARY, "studies/toy/Summary.csv"),
    _renamed(CONFIG, "config/large.yaml"),
]
DEEP = "[" * 100_000
DOCUMENTS = [
    *_each(
        METADATA,
        "",
        "[]",
        "{}",
        "nan",
        '{"@graph": 5}',
        '{"@graph": {}}',
        '{"@graph": [5]}',
        '{"@graph": [{"@id": 5}]}',
        '{"@graph": [{"@id": ""}]}',
        DEEP,
        "\x00",
    ),
    *_each(ORIGIN, "", "[]", "{}", "5", '{"spec": []}', '{"commit": 5}', DEEP),
    *_each(COST, "", "[]", "{}", '{"cpu_seconds": "1"}', DEEP),
    *_each(
        CONFIG,
        "",
        "[]",
        "5",
        "studies: 5",
        "a: &a [*a]",
        "\x00",
        "studies: {toy: {}}",
        "from: ../../x.yaml",
        "a: &a [x, x]\nb: [*a, *a]",
    ),
    *_each(SUMMARY, "", "a,b\n1,2\n", "stream,learner,metric,mean\n"),
    *_each(SCORES, "", "score\nx\n", "a\n1\n"),
    Mutation("sums of no form", lambda crate: write(crate / SUMS, "abc\n"), False),
    Mutation(
        "sums of another folder",
        lambda crate: write(crate / SUMS, f"{'0' * 64}  ../../etc/passwd\n"),
        False,
    ),
    Mutation("sums that are bytes", lambda crate: write(crate / SUMS, b"\xff\xfe"), False),
    Mutation("metadata that are bytes", lambda crate: write(crate / METADATA, b"\xff\xfe")),
    Mutation(
        "metadata of 70 MB",
        lambda crate: write(crate / METADATA, "[" + " " * 70_000_000 + "]"),
        False,
    ),
]
RECORDS = [
    Mutation("costs of 1e9 s", with_json(COST, "cpu_seconds", value=1e9), harmless=True),
    Mutation("costs of 0 s", with_json(COST, "cpu_seconds", value=0.0), harmless=True),
    *(
        Mutation(f"cpu_seconds is {value!r}", with_json(COST, "cpu_seconds", value=value))
        for value in (float("nan"), float("inf"), -1.0, None, "1", [], True)
    ),
    Mutation("no cpu_seconds", with_json(COST, "cpu_seconds", remove=True)),
    Mutation("memory of -1", with_json(COST, "peak_memory_bytes", value=-1)),
    Mutation("another study in the provenance", with_json(ORIGIN, "spec", "study", value="game")),
    Mutation("no study in the provenance", with_json(ORIGIN, "spec", "study", remove=True)),
    Mutation("a spec of no form", with_json(ORIGIN, "spec", value=[1])),
    Mutation("fewer streams in the provenance", with_json(ORIGIN, "spec", "streams", value=[])),
    Mutation(
        "another method in the provenance",
        with_json(ORIGIN, "spec", "methods", "search", value="vcl"),
    ),
    Mutation("no spec in the provenance", with_json(ORIGIN, "spec", remove=True), harmless=True),
    Mutation(
        "escapes in a processor", with_json(ORIGIN, "processors", value=["\x1b[2J"]), harmless=True
    ),
]
SPECS = [
    Mutation("a stream above", in_spec("stream", "name", value="../../steps")),
    Mutation("an absolute stream", in_spec("stream", "name", value="/etc/passwd")),
    Mutation("all seeds", in_spec("seeds", value=[0, 10**9])),
    Mutation("seeds as text", in_spec("seeds", value="01")),
    Mutation("seeds that are true", in_spec("seeds", value=[False, True])),
    Mutation("one seed", in_spec("seeds", value=[0])),
    Mutation("another study", in_spec("study", value="game")),
    Mutation("another method", in_spec("method", value="search")),
    Mutation("another setting", in_spec("learner", 0, 1, "noise_sd", value=0.6)),
    Mutation("a setting that is a text", in_spec("learner", 0, 1, "noise_sd", value="0.5")),
    Mutation("another learner", in_spec("learner", 0, 0, value="os")),
    Mutation("no learner", in_spec("learner", value=[])),
    Mutation("another family", in_spec("stream", "family", value="toy-ramp")),
    Mutation("a billion points", in_spec("stream", "settings", "points", value=10**9)),
    Mutation("no metrics", in_spec("metrics", value=[])),
    Mutation("a model", in_spec("model", value=["mlp", {"hidden": [10**6]}])),
    Mutation("revealed shifts", in_spec("reveals", value=["boundaries"])),
    Mutation("looks", in_spec("looks", value=10**6)),
    Mutation("instructions of no kind", in_spec("instructions", value={"a": 1}), harmless=True),
    Mutation("a GPU", in_spec("device", value="gpu"), harmless=True),
    Mutation("another code", in_spec("code", value="0" * 64), harmless=True),
    Mutation("code of no kind", in_spec("code", value=[1]), harmless=True),
    Mutation("more in the spec", in_spec("tuned", value={"os.path": 1}), harmless=True),
    Mutation("a key that is unknown", in_spec("more", value=1)),
    Mutation("no seeds", in_spec("seeds", remove=True)),
    Mutation("no stream", in_spec("stream", remove=True)),
    Mutation("a spec that is none", in_node("", "attributes", "spec", value="[]")),
    Mutation("a spec that is a number", in_node("", "attributes", "spec", value=5)),
    Mutation("a deep spec", in_node("", "attributes", "spec", value=DEEP)),
    Mutation("another stream", in_spec("settings", "noise_sd", value=0.1, store=STREAM)),
    Mutation("a stream of data", in_spec("data", value={"x": "1"}, store=STREAM)),
    Mutation("a stream of no kind", in_spec("stream", value=5, store=STREAM)),
]
STORES = [
    Mutation("an array of 16 TB", in_zip(STORE, _large)),
    Mutation("a chunk of 16 EB", in_zip(STORE, _bomb)),
    Mutation(
        "a compressed store", in_zip(STORE, lambda members: None, compression=zipfile.ZIP_DEFLATED)
    ),
    Mutation("a member above", in_zip(STORE, lambda members: members.update({"../../x": b"x"}))),
    Mutation("an absolute member", in_zip(STORE, lambda members: members.update({"/etc/x": b"x"}))),
    Mutation("a member twice", _double_member),
    Mutation("no group", in_zip(STORE, lambda members: members.pop("zarr.json"))),
    Mutation("no array", in_zip(STORE, lambda members: members.pop("score/zarr.json"))),
    Mutation("no chunk", in_zip(STORE, lambda members: members.pop("score/c/0/0/0"))),
    Mutation(
        "an empty chunk", in_zip(STORE, lambda members: members.update({"score/c/0/0/0": b""}))
    ),
    Mutation(
        "a chunk of noise",
        in_zip(STORE, lambda members: members.update({"score/c/0/0/0": b"\x28\xb5\x2f\xfd" * 9})),
    ),
    Mutation("a negative shape", in_node("score", "shape", value=[1, 2, -12])),
    Mutation("a shape of texts", in_node("score", "shape", value=["1", "2", "12"])),
    Mutation("fewer dimensions", in_node("score", "shape", value=[24])),
    Mutation("another shape", in_node("score", "shape", value=[1, 2, 11])),
    Mutation(
        "chunks of zero",
        in_node("score", "chunk_grid", "configuration", "chunk_shape", value=[0, 0, 0]),
    ),
    Mutation("another type", in_node("score", "data_type", value="int64")),
    Mutation("an unknown type", in_node("score", "data_type", value="os.system")),
    Mutation("a type of no kind", in_node("score", "data_type", value={"name": "object"})),
    Mutation("another codec", in_node("score", "codecs", 1, "name", value="blosc")),
    Mutation("no codecs", in_node("score", "codecs", value=[])),
    Mutation("a transformer", in_node("score", "storage_transformers", value=[{"name": "x"}])),
    Mutation(
        "other dimensions", in_node("score", "dimension_names", value=["metric", "task", "seed"])
    ),
    Mutation("dates", in_node("seed", "attributes", value={"units": "days since 1e9-01-01"})),
    Mutation("a scale", in_node("score", "attributes", "scale_factor", value=2.0)),
    Mutation("another title", in_node("", "attributes", "title", value="\x1b[2J")),
    Mutation("another licence", in_node("", "attributes", "licence", value="stolen")),
    Mutation("another warm-up", in_node("", "attributes", "warm_up", value=10**9, store=STREAM)),
    Mutation("a warm-up of no kind", in_node("", "attributes", "warm_up", value="x", store=STREAM)),
    Mutation("a store of no zip", lambda crate: write(crate / STORE, "no zip")),
    Mutation("an empty store", lambda crate: write(crate / STORE, b"")),
    Mutation(
        "another run",
        lambda crate: write(
            crate / STORE, (crate / "runs/toy/steps/plain/2-3.zarr.zip").read_bytes()
        ),
    ),
    Mutation("a stream as run", lambda crate: write(crate / STORE, (crate / STREAM).read_bytes())),
    Mutation("a run as stream", lambda crate: write(crate / STREAM, (crate / STORE).read_bytes())),
]
CONFIGS = [
    Mutation("components", replaced(CONFIG, "seeds_per_job", "components: mine\nseeds_per_job")),
    Mutation(
        "components above",
        replaced(CONFIG, "seeds_per_job", "components: ../../mine\nseeds_per_job"),
    ),
    Mutation("a folder above", replaced(CONFIG, "seeds_per_job", "folder: ../..\nseeds_per_job")),
    Mutation(
        "an absolute folder", replaced(CONFIG, "seeds_per_job", "folder: /etc\nseeds_per_job")
    ),
    Mutation(
        "a config above", replaced(CONFIG, "seeds_per_job", "from: /etc/passwd\nseeds_per_job")
    ),
    Mutation("more seeds", replaced(CONFIG, "seeds: 4", "seeds: 100000")),
    Mutation("a billion seeds", replaced(CONFIG, "seeds: 4", "seeds: 1000000000")),
    Mutation("fewer seeds", replaced(CONFIG, "seeds: 4", "seeds: 2")),
    Mutation("a billion points", replaced(CONFIG, "points: 12", "points: 1000000000")),
    Mutation("a method less", replaced(CONFIG, ", plain: [gaussian-mean]", "")),
    Mutation(
        "another method",
        replaced(CONFIG, "plain: [gaussian-mean]", "plain: [gaussian-mean: {noise_sd: 9.0}]"),
    ),
    Mutation("a metric less", replaced(CONFIG, "jump_f1, ", "")),
    Mutation("an artefact less", replaced(CONFIG, "[score-table]", "[]")),
    Mutation(
        "data of a user",
        replaced(
            CONFIG,
            "{family: toy-step, points: 12, realisations: 4}",
            "{family: series-file, path: /etc/passwd}",
        ),
    ),
    Mutation(
        "a folder of data",
        replaced(
            CONFIG,
            "{family: toy-step, points: 12, realisations: 4}",
            "{family: series-file, path: /}",
        ),
    ),
    Mutation(
        "a home of nobody",
        replaced(
            CONFIG,
            "{family: toy-step, points: 12, realisations: 4}",
            "{family: series-file, path: ~nobody-here/x}",
        ),
    ),
    Mutation(
        "a study more",
        lambda crate: write(
            crate / CONFIG,
            (crate / CONFIG).read_text()
            + (crate / CONFIG).read_text().split("studies:\n")[1].replace("toy:", "game:"),
        ),
    ),
    Mutation("another title", replaced(CONFIG, "title: Steps", "title: Stairs"), harmless=True),
    Mutation("a comment", replaced(CONFIG, "studies:", "# nothing\nstudies:"), harmless=True),
    Mutation("escapes in the title", replaced(CONFIG, "title: Steps", 'title: "\\e[2J"')),
]
NUMBERS = [
    Mutation("a better score", replaced(SCORES, "0.0,ok", "0.9,ok")),
    Mutation("another status", replaced(SCORES, ",ok", ",OK")),
    Mutation("escapes in a status", replaced(SUMMARY, "4 of 4 runs", "\x1b[2J")),
    Mutation("a learner with escapes", replaced(SUMMARY, ",plain,", ",\x1b[2J,")),
    Mutation(
        "a row less",
        lambda crate: write(
            crate / SUMMARY, "\n".join((crate / SUMMARY).read_text().splitlines()[:-1])
        ),
    ),
    Mutation(
        "a row twice",
        lambda crate: write(
            crate / SUMMARY,
            (crate / SUMMARY).read_text() + (crate / SUMMARY).read_text().splitlines()[-1] + "\n",
        ),
    ),
    Mutation("another number in a table", replaced(f"{TABLE}.csv", "0.", "1.")),
    Mutation("another caption", replaced(f"{TABLE}.md", "runs", "walks")),
    Mutation("one byte without checksums", replaced(SUMMARY, "toy", "tov"), False),
    Mutation(
        "code without checksums",
        lambda crate: write(crate / INIT, "1/0"),
        False,
    ),
    Mutation(
        "other code",
        lambda crate: write(crate / INIT, "1/0"),
        harmless=True,
    ),
]
TABLE_OF_MUTATIONS = [*FILES, *DOCUMENTS, *RECORDS, *SPECS, *STORES, *CONFIGS, *NUMBERS]
NOTHING = Mutation("nothing", lambda crate: None, False, harmless=True)
RUNS_AT_RANDOM = [randomly(seed) for seed in range(50)]
