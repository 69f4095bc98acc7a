"""Faulty copies of a good stream, metric and artefact, and words of the expected message."""

from __future__ import annotations

from tests.contract.faulty_learners import CLASSES, ELSEWHERE, IMPORTED, VALUES
from tests.contract.good_parts import GOOD, Fault

NUMBER = 'seeds.fold("random-walk", number)'
VALUE = "value = 0.1 *"
STORED = '{"value": (dims, value), "shift": (dims, shift)}'
BATCH = "Batch(np.zeros((size, 1, 0)), targets, np.ones((size, 1), bool))"
TWICE = "Built twice from the same settings"
FINITE = "Data are finite"
NUMPY = "import numpy as np\n"
TENSORFLOW = "Nothing that it imports needs TensorFlow"
FACTS = '"one-row", "shifts"'
TAKEN = 'store["value"].values[list(realisations), t].reshape(-1, 1, 1)'
STREAMS = {
    "nan-values": Fault(VALUE, "value = np.nan *", FINITE),
    "infinite-values": Fault(VALUE, "value = np.inf *", "finite"),
    "complex-targets": Fault(BATCH, BATCH.replace("targets", "targets + 0j"), "are complex128"
        .replace("are ", "")),
    "targets-of-objects": Fault(BATCH, BATCH.replace("targets", "targets.astype(object)"), FINITE),
    "inputs-of-text": Fault(BATCH, BATCH.replace("0)),", "0)).astype(str),"), FINITE),
    "unseeded-stream": Fault(f"seeds.generator({NUMBER})", "np.random.default_rng()", TWICE),
    "global-stream": Fault(f"seeds.generator({NUMBER})", "np.random", TWICE),
    "counts-realisations": Fault(NUMBER, NUMBER.replace("number", "number, settings.realisations"),
        "A realisation is the same however many"),
    "equal-realisations": Fault(NUMBER, NUMBER.replace(", number", ", 0"), "have different data"),
    "starts-with-a-change": Fault("shift[:, 0] = False", "", "The store has `shift`"),
    "shift-of-numbers": Fault("np.ones(value.shape, bool)", "np.ones(value.shape)", "has `shift`"),
    "no-title": Fault('"title": "Random walk", ', "", "KeyError: 'title'"),
    "no-units": Fault(', "units": "1"}', "}", "all variables have names and units"),
    "nothing-seen": Fault("np.ones((size, 1), bool)", "np.zeros((size, 1), bool)", FINITE),
    "mask-of-numbers": Fault("np.ones((size, 1), bool)", "np.ones((size, 1))", FINITE),
    "two-rows": Fault("reshape(-1, 1, 1)", "reshape(-1, 1, 1).repeat(2, axis=1)", "shapes of all"),
    "one-column-more": Fault("(0,), n_outputs", "(1,), n_outputs", "The shapes of all data"),
    "more-tasks": Fault('store.sizes["task"])', '9 + store.sizes["task"])', "shapes of all data"),
    "truth-in-targets": Fault(TAKEN, TAKEN + ' + store["shift"].values[0, t]', "another `shift`"),
    "neighbours-mix": Fault(TAKEN, f"({TAKEN}).mean(axis=0) + {TAKEN}", "those read with it"),
    "changes-its-store": Fault("targets = store", 'store["value"].values[:, t] += 1\n    targets ='
        " store", "A repetition's task"),
    "plain-task": Fault("return Task(", "return (", "AttributeError"),
    "no-task": Fault("return Task(", "return None and (", "NoneType"),
    "list-as-store": Fault("    return store\n", "    return [store]\n", "list"),
    "raises-in-build": Fault("    steps = np", "    raise OSError('disk')\n    steps = np", "disk"),
    "unknown-property": Fault(FACTS, '"one-row", "shiftts"', 'gives: unknown word "shiftts"'),
    "no-kind": Fault('gives=("value", ', "gives=(", "`gives` has a kind of problem"),
    "imports-tensorflow": Fault(NUMPY, f"{NUMPY}import tensorflow\n", TENSORFLOW),
    "stream-writes": Fault("    steps = np", "    open('HERE/n', 'w')\n    steps = np", ELSEWHERE),
    "stream-leaves": Fault(NUMPY, f"{NUMPY}import os; os._exit(0)\n", IMPORTED),
}  # fmt: skip
RETURNED = "np.where(batch.mask, errors, 0).sum(axis=1) / batch.mask.sum(axis=1)"
METRICS = {
    "scalar": Fault(RETURNED, f"float(({RETURNED}).mean())", "not an array of 2 seeds"),
    "a-column": Fault(RETURNED, f"({RETURNED})[:, None]", "not an array of 2 seeds"),
    "each-row": Fault(RETURNED, "errors", "not an array of 2 seeds"),
    "list-of-scores": Fault(RETURNED, f"list({RETURNED})", "not an array of 2 seeds"),
    "complex-scores": Fault(RETURNED, f"{RETURNED} + 0j", "it has the type complex128"),
    "scores-of-objects": Fault(RETURNED, f"({RETURNED}).astype(object)", "it has the type object"),
    "infinite-scores": Fault(RETURNED, f"np.inf * ({RETURNED})", "in its bounds, or NaN"),
    "outside-its-bounds": Fault(RETURNED, f"-({RETURNED})", "in its bounds, or NaN"),
    "padding-counts": Fault(RETURNED, "errors.mean(axis=1)", "a masked row has an effect"),
    "mean-over-seeds": Fault(RETURNED, f"{RETURNED} + errors[:, :3].mean()", "seeds mix"),
    "changes-predictions": Fault("    weights", "    predictive.mean[:] = 0\n    weights", "chan"),
    "score-of-chance": Fault(RETURNED, f"{RETURNED} + np.random.random()", "second call differs"),
    "score-raises": Fault("    weights", "    raise KeyError('x')\n    weights", "KeyError: 'x'"),
    "judges-too-much": Fault('"student-t"', '"categorical"', "AttributeError"),
    "unit-of-number": Fault('unit="1"', "unit=1", "Its unit is a text"),
    "no-sentence": Fault("of each row.", "of each row", "is a sentence"),
    "unknown-uses": Fault("judges=", 'uses=("acuracy",), judges=', 'unknown word "acuracy"'),
    "metric-of-tensorflow": Fault(NUMPY, f"{NUMPY}import tensorflow\n", TENSORFLOW),
    "of-a-whole-run": Fault('stage="before"', 'stage="run"', "no attribute 'log_weights'"),
    "metric-leaves": Fault("    weights", "    import os; os._exit(0)\n    weights", "status 0"),
}  # fmt: skip
MEAN = ".mean(axis=1)"
AGAIN = "made a second time, it differs"
CHANGED = "what was given has changed"
OF_RUNS = {
    "run-by-chance": Fault(MEAN, f"{MEAN} + np.random.random()", AGAIN),
    "run-of-calls": Fault(MEAN, f"{MEAN} + len(CALLS)", AGAIN,
        ("def mean", "CALLS = []\n\n\ndef mean"),
        ("    by_task", "    CALLS.append(1)\n    by_task")),
    "run-by-process": Fault(MEAN, f"{MEAN} + hash('score') % 1000", AGAIN),
    "changes-its-run": Fault("    by_task", '    run["score"][:] += 1\n    by_task', CHANGED),
    "changes-its-stream": Fault("    by_task", '    stream["shift"][:] = 1\n    by_task', CHANGED),
    "writes-scores": Fault("    by_task", "    open('scores.csv', 'w')\n    by_task",
        "it writes scores.csv"),
    "writes-beside": Fault("    by_task", "    open('HERE/new', 'w')\n    by_task", ELSEWHERE),
}  # fmt: skip
ARTEFACTS = {
    "of-tensorflow": Fault(NUMPY, f"{NUMPY}import tensorflow\n", TENSORFLOW),
    "no-full-stop": Fault("mean over seeds.", "mean over seeds", "is a sentence"),
    "raises-when-imported": Fault(NUMPY, f"{NUMPY}1 / 0\n", "ZeroDivisionError"),
    "leaves-when-imported": Fault(NUMPY, f"{NUMPY}import os; os._exit(0)\n", IMPORTED),
    "writes-when-imported": Fault(NUMPY, f"{NUMPY}open('HERE/new', 'w')\n", ELSEWHERE),
    "figure-raises": Fault("    axes =", "    raise KeyError('x')\n    axes =", "KeyError: 'x'"),
    "draws-nothing": Fault("    return figure\n", "", "NoneType"),
    "draws-a-number": Fault("def draw(study", "draw = 3\n\n\ndef drawn(study", "has the functions"),
    "drawn-by-chance": Fault("mean, label", "mean + np.random.random(), label", AGAIN),
    "dated": Fault("title=stream", "title=time.perf_counter()", AGAIN,
        (NUMPY, f"import time\n{NUMPY}")),
    "labelled-by-hash": Fault('xlabel="task"', "xlabel=hash(stream)", AGAIN),
    "changes-scores": Fault("    axes", '    study.cube["score"][:] = 0\n    axes', CHANGED),
    "changes-runs": Fault("    axes", "    for name in study.methods:\n        study.scores["
        "f'runs/steps/{name}'].load()['score'][:] = 0\n    axes", CHANGED),
    "changes-streams": Fault("    axes", "    study.streams['steps']['shift'].load()[:] = True\n"
        "    axes", CHANGED),
    "changes-summary": Fault("    axes", "    study.summary['mean'] = 0\n    axes", CHANGED),
    "draws-beside": Fault("    axes", "    figure.savefig('HERE/new.png')\n    axes", ELSEWHERE),
    "draws-here": Fault("    axes", "    figure.savefig('own.png')\n    axes", "it writes own.png"),
    "uses-unknown": Fault('    return f"Mean', '    return f"Mean', 'unknown word "acuracy"',
        ("def draw", "from shiftbench.core.facts import Facts\n\nFACTS = Facts(uses=('acuracy',))\n"
         "\n\ndef draw")),
}  # fmt: skip
FAMILIES = {
    "learners": {
        name: fault.apply(GOOD["learners"]["last-value"]) for name, fault in VALUES.items()
    }
    | {name: fault.apply(GOOD["learners"]["nearest-mean"]) for name, fault in CLASSES.items()},
    "streams": {
        name: fault.apply(GOOD["streams"]["random-walk"]) for name, fault in STREAMS.items()
    },
    "metrics": {
        name.replace("-", "_"): fault.apply(GOOD["metrics"]["mean_error"])
        for name, fault in METRICS.items()
    }
    | {
        name.replace("-", "_"): fault.apply(GOOD["metrics"]["at_the_end"])
        for name, fault in OF_RUNS.items()
    },
    "artefacts": {
        name: fault.apply(GOOD["artefacts"]["score-over-time"]) for name, fault in ARTEFACTS.items()
    },
}
"""Texts of faulty parts by kind and name."""
SAID = {
    name if kind != "metrics" else name.replace("-", "_"): fault.said
    for kind, faults in (
        ("learners", VALUES | CLASSES),
        ("streams", STREAMS),
        ("metrics", METRICS | OF_RUNS),
        ("artefacts", ARTEFACTS),
    )
    for name, fault in faults.items()
}
"""Words in the expected message about each part."""
