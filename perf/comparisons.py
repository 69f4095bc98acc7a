"""All comparisons, with one row of the table per peer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perf.driver import Comparison, Side

NETWORKS, ROWS = "perf.ours.networks", "perf.ours.rows"
TORCH, JAX, OTHERS = "perf.peers.torch_networks", "perf.peers.jax_networks", "perf.peers.rows"
NATIVE = {"SHIFTBENCH_INSTRUCTIONS": "native"}
ONLINE = ("oga", "oga-el", "sva", "svb", "ngvi")


def _ours(function: str, **arguments: Any) -> Side:
    return Side("ours", function, arguments)


def _torch(function: str, label: str = "PyTorch", **arguments: Any) -> Side:
    return Side(label, f"{TORCH}:{function}", arguments, "torch")


def _jax(function: str, **arguments: Any) -> Side:
    return Side("JAX", f"{JAX}:{function}", arguments, "jax")


def _package(case: str, kind: str, epochs: int) -> Side:
    arguments = {"case": case, "kind": kind, "epochs": epochs}
    return Side("bayesian-torch", f"{TORCH}:package", arguments, "bayesian-torch")


def _other(label: str, function: str, **arguments: Any) -> Side:
    return Side(label, f"{OTHERS}:{function}", arguments, label.partition(",")[0])


def _natively(ours: Side) -> Side:
    return replace(ours, label="ours, native instructions", environment=NATIVE)


def _products(kind: str, case: str, number: int) -> Side:
    arguments = {"kind": kind, "case": case, "number": number}
    return Side("its products", "perf.ours.products:steps", arguments)


def _side_by_side(part: str, case: str, epochs: tuple[int, int]) -> Comparison:
    """Return a comparison of small networks of VCL or VBS; one step trains all networks."""
    ours, number = _ours(f"{NETWORKS}:mean_field", case=case, epochs=epochs), epochs[1] - epochs[0]
    peers = (_torch("mean_field", case=case, number=number),
             _jax("mean_field", case=case, number=number), _natively(ours))  # fmt: skip
    return Comparison(
        "steps", part, "step", ours, peers, _products("local", case, number),
        tolerance=0.01, tiny={"epochs": (1, 2)},
    )  # fmt: skip


def _point_estimate(part: str, kind: str) -> Comparison:
    peers = (_torch("point_estimate", kind=kind, epochs=30),
             _jax("point_estimate", kind=kind, epochs=30))  # fmt: skip
    return Comparison(
        "steps", f"{part}, 784-100-100-10, 256 rows", "step",
        _ours(f"{NETWORKS}:point_estimate", kind=kind, epochs=(1, 31)), peers,
        _products("points", "WIDE", 100), tiny={"epochs": (1, 2)},
    )  # fmt: skip


def _ten_draws(part: str, function: str, peer: str, of: dict[str, str], *more: Side) -> Comparison:
    ours = _ours(f"{NETWORKS}:{function}", epochs=(1, 6), **of)
    peers = (_torch(peer, "PyTorch, fresh noise", noise="fresh", epochs=4, **of),
             _torch(peer, "PyTorch, noise table", noise="table", epochs=4, **of))  # fmt: skip
    return Comparison(
        "steps", f"{part}, 10 draws, 784-100-100-10, 256 rows", "step", ours, (*peers, *more),
        # Both sides draw; at the initial precision, the draws hardly matter.
        tolerance=0.02, tiny={"epochs": (1, 2)},
    )  # fmt: skip


def _networks() -> list[Comparison]:
    vogn = _ten_draws("VOGN", "vogn_steps", "vogn_steps", {})
    flipout = _ours(f"{NETWORKS}:flipout", epochs=(1, 3))
    return [
        _side_by_side("VCL, 10 seeds, 64-50-10, 50 rows", "VCL", (10, 310)),
        _side_by_side("VBS, 6 hypotheses x 10 seeds, 64-50-10, 50 rows", "VBS", (5, 65)),
        replace(
            vogn,
            theirs=(*vogn.theirs, _natively(vogn.ours)),
            limit=_products("vogn", "MANY_DRAWS", 40),
        ),
        _ten_draws("MFVI, local", "many_draws", "many_draws", {"estimator": "local"}),
        _ten_draws(
            "MFVI, weights drawn", "many_draws", "many_draws", {"estimator": "sample"},
            _package("MANY_DRAWS", "Reparameterization", 1),
        ),
        _point_estimate("Adam", "adam"),
        _point_estimate("Online EWC", "ewc"),
        _point_estimate("SI", "si"),
        Comparison(
            "steps", "MFVI, Flipout, convnet, 64 rows", "step", flipout,
            (_torch("flipout", epochs=2), _package("CONVNET", "Flipout", 2), _natively(flipout)),
            Side("its convolutions", "perf.ours.products:convolutions", {"number": 4}),
            tiny={"epochs": (1, 2)},
        ),
        Comparison(
            "steps", "Ensemble of 5, digits, 64-50-10", "fit",
            _ours(f"{NETWORKS}:members", together=True, epochs=20),
            (Side("ours, one after the other", f"{NETWORKS}:members",
                  {"together": False, "epochs": 20}),),
            tiny={"epochs": 1},
        ),
    ]  # fmt: skip


def _uncertain() -> list[Comparison]:
    """Return comparisons of a network's posteriors with PyTorch packages."""
    peers = "perf.peers.torch_uncertainty"
    return [
        Comparison(
            "steps", "IVON, 784-100-100-10, 256 rows", "step",
            _ours(f"{NETWORKS}:ivon_steps", epochs=(1, 21)),
            (Side("ivon-opt", f"{peers}:ivon", {"epochs": 20}, "ivon-opt"),),
            tolerance=0.02, tiny={"epochs": (1, 2)},
        ),
        Comparison(
            "steps", "Kronecker-factored Laplace, 784-100-100-10, 2,560 rows", "fit",
            _ours(f"{NETWORKS}:kronecker_fit"),
            (Side("laplace-torch", f"{peers}:kronecker_fit", {}, "laplace-torch"),),
        ),
    ]  # fmt: skip


def _detectors() -> list[Comparison]:
    names = {"adwin": "ADWIN", "ddm": "DDM", "page-hinkley": "Page-Hinkley"}
    return [
        Comparison(
            "rows", f"{text}, a signal in one call until an alarm", "row",
            _ours(f"{ROWS}:detector", name=name, rows=20_000),
            (_other("river, drift detectors", "river_detector", name=name, rows=20_000),),
            tiny={"rows": 200},
        )
        for name, text in names.items()
    ]  # fmt: skip


def _run_lengths() -> list[Comparison]:
    found = []
    for keep in (50, 200):
        # Calls of the harness see fewer rows, since their cost does not depend on the number.
        for text, how, rows, few in (
            ("in a block", "block", 20_000, 20_000),
            ("singly", "singly", 4_000, 4_000),
            ("calls of the harness", "harness", 4_000, 1_000),
        ):
            fast = {"keep": keep, "rows": rows, "singly": how != "block"}
            peers = [_other("fast-bocpd", "fast_bocpd", **fast)]
            if how == "singly" and keep == 50:
                peers.append(_other("changepoint, all kept of 1,000", "rust", rows=1_000))
                peers.append(_other("changepoint-online, no posterior", "focus", rows=4_000))
            found.append(Comparison(
                "rows", f"BOCPD, {keep} run lengths, {text}", "row",
                _ours(f"{ROWS}:run_lengths", keep=keep, rows=few, how=how), tuple(peers),
                tiny={"rows": 30},
            ))  # fmt: skip
    found.append(Comparison(
        "rows", "BOCPD, 50 run lengths, learn_one, with alarms", "row",
        _ours(f"{ROWS}:learn_one", keep=50, rows=2_000),
        (_other("fast-bocpd", "fast_bocpd", keep=50, rows=4_000, singly=True),),
        tiny={"rows": 30},
    ))  # fmt: skip
    return found


def _regressions() -> list[Comparison]:
    methods = {
        "linear": "Bayesian linear regression",
        "beam": "a beam of 6 over it",
        "run-length": "6 run lengths over it",
    }
    return [
        Comparison(
            "rows", f"Harness, tasks of one row, 14 features: {text}", "row",
            _ours("perf.ours.streams:regression", method=method, rows=2_000),
            (_other("river, Bayesian linear regression", "river_regression", rows=2_000),),
            tiny={"rows": 5},
        )
        for method, text in methods.items()
    ]  # fmt: skip


def _online() -> list[Comparison]:
    river = _other("river, logistic regression, hinge", "river_classifier")
    scikit = _other("scikit-learn, SGDClassifier", "scikit_classifier")
    return [
        Comparison(
            "online", f"{name.upper()}, 30 features, {how}", "row",
            _ours(f"{ROWS}:online", learner=name, singly=singly),
            (river, scikit) if name == "oga" and singly else (river,),
            tiny={"orders": 2, "rows": 10},
        )
        for name in ONLINE
        for how, singly in (("20 orders in a block", False), ("20 orders row by row", True))
    ]  # fmt: skip


def _words() -> list[Comparison]:
    words, ours = "perf.ours.words", _ours("perf.ours.words:counting", years=5)
    peer = Side("scikit-learn, tokens; SciPy, matrices", "perf.peers.words:counting",
                {"years": 5}, "scikit-learn")  # fmt: skip
    adam = Side("ours, the papers' Adam", f"{words}:fits", {"method": "adam", "words": 5})
    return [
        Comparison("words", "Counting pairs, 1,000 words", "token", ours, (peer,),
                   tiny={"years": 1}),
        Comparison("words", "Skip-gram, 500 contexts, 20 features, Newton", "word",
                   _ours(f"{words}:fits", method="newton", words=5), (adam,),
                   tiny={"words": 1}),
    ]  # fmt: skip


def _jobs() -> list[Comparison]:
    jobs = "perf.ours.jobs"
    return [
        Comparison("jobs", "check of the embedded config", "command",
                   _ours(f"{jobs}:command", verb="check")),
        Comparison("jobs", "plan of the embedded config", "command",
                   _ours(f"{jobs}:command", verb="plan")),
        Comparison("jobs", "Smallest run without TensorFlow, of 20", "run",
                   _ours(f"{jobs}:run", study="light")),
        Comparison("jobs", "Smallest run with TensorFlow, of 20", "run",
                   _ours(f"{jobs}:run", study="tensorflow")),
    ]  # fmt: skip


ALL = [
    *_networks(),
    *_uncertain(),
    *_detectors(),
    *_run_lengths(),
    *_regressions(),
    *_online(),
    *_words(),
    *_jobs(),
]
GROUPS = list(dict.fromkeys(comparison.group for comparison in ALL))
