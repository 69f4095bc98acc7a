"""Faulty copies of two good learners: replacements, and words of the expected message."""

from __future__ import annotations

from tests.contract.good_parts import LAST_VALUE, Fault

MEAN = 'np.repeat(state["last"][:, :, None], inputs.shape[1], axis=2)'
VARIANCE = "np.full(mean.shape, settings.sd**2)"
PREDICTED = "Gaussian(np.zeros(mean.shape[:2]), mean, variance)"
SEEN = "seen = batch.mask[:, -1:, None]"
TARGETS = "batch.targets[:, -1:]"
OBSERVED = f'{{"last": np.where(seen, {TARGETS}, state["last"])}}, {{}}'
INIT = '{"last": np.zeros((len(seeds), 1, problem.n_outputs))}'
FACTS = '"design": "gaussian"}'
IMPORT = "import numpy as np\n"
BUILD = '    """The learner for series of problem.n_outputs values."""\n'
assert all(one in LAST_VALUE for one in (MEAN, VARIANCE, PREDICTED, SEEN, OBSERVED, INIT, FACTS))
SHAPE = "has the shape"
ORDER = "in whatever order it is called. It failed: `predict` gave others"
SUMS = "Probabilities and weights sum to one"
SEEDS = "change no bytes for the seed beside it"
FRAMES = "tried to look into the frames of its callers"
ELSEWHERE = "It writes to no folder but its working folder: it tried"
IMPORTED = "During this check: It can be imported: Python ended"
GLOBAL = "a global generator of Python or NumPy has changed"
GROWS = "keep their names, shapes and types from task to task"


def before_mean(line: str, more: str = "") -> tuple[str, str]:
    """Return the replacement that adds a line to `predict`, and a term to its mean."""
    return f"mean = {MEAN}", f"{line}\n        mean = {MEAN}{more}"


def before_seen(line: str) -> tuple[str, str]:
    """Return the replacement that adds a line to `observe`."""
    return SEEN, f"{line}\n        {SEEN}"


def at_import(line: str) -> tuple[str, str]:
    """Return the replacement that adds a line to the top of the file."""
    return IMPORT, f"{IMPORT}import os, sys\n{line}\n"


PREDICTIONS = {
    "no-rows": Fault(MEAN, f"{MEAN}[:, :, :0]", SHAPE),
    "rows-twice": Fault("inputs.shape[1], axis", "2 * inputs.shape[1], axis", SHAPE),
    "swapped-axes": Fault(MEAN, f"{MEAN}.transpose(1, 0, 2, 3)", SHAPE),
    "complex": Fault(MEAN, f"{MEAN} + 0j", "the type complex128"),
    "objects": Fault(MEAN, f"{MEAN}.astype(object)", "the type object"),
    "text": Fault(MEAN, f"{MEAN}.astype(str)", "the type <U"),
    "flags": Fault(MEAN, f"{MEAN} > 0", "the type bool"),
    "list": Fault("mean, variance)", "mean.tolist(), variance)", "is a list"),
    "scalar-variance": Fault("mean, variance)", "mean, 1.0)", "is a float"),
    "no-variance": Fault("mean, variance)", "mean, None)", "is a NoneType"),
    "nan": Fault(MEAN, f"{MEAN} * np.nan", SUMS),
    "nan-at-first": Fault(MEAN, f"{MEAN} / np.any(state['last'] != 0)", SUMS),
    "infinite": Fault(VARIANCE, f"{VARIANCE} * np.inf", SUMS),
    "negative-variance": Fault(VARIANCE, f"-{VARIANCE}", SUMS),
    "zero-variance": Fault(VARIANCE, f"0 * {VARIANCE}", "a variance is 0"),
    "weights-of-two": Fault(
        "np.zeros(mean.shape[:2])", "np.log(2 * np.ones(mean.shape[:2]))", SUMS
    ),
    "weights-nan": Fault("np.zeros(mean.shape[:2])", "np.nan * mean[:, :, 0, 0]", SUMS),
    "two-hypotheses": Fault("np.zeros(mean.shape[:2])", "np.log(np.ones((2, 2)) / 2)", SHAPE),
    "other-type": Fault(PREDICTED, "{'mean': mean}", "predicts a dict"),
    "plain-tuple": Fault(PREDICTED, "(mean, variance)", "predicts a tuple"),
    "nothing": Fault(f"return {PREDICTED}", "return None", "predicts a NoneType"),
}
HIDDEN = {
    "counter": Fault(
        BUILD,
        f"{BUILD}    calls = []\n",
        ORDER,
        before_mean("calls.append(1)", " + 1e-9 * len(calls)"),
    ),
    "memory": Fault(
        BUILD,
        f"{BUILD}    memory = []\n",
        ORDER,
        before_seen("memory.append(batch.targets.mean())"),
        before_mean("", " + sum(memory[-1:])"),
    ),
    "count-of-updates": Fault(
        BUILD,
        f"{BUILD}    calls = []\n",
        "`observe` gave others",
        before_seen("calls.append(1)"),
        (TARGETS + ", state", TARGETS + " + len(calls), state"),
    ),
    "state-of-a-closure": Fault(
        BUILD,
        f"{BUILD}    first = []\n",
        "from a saved state ends",
        before_seen("first.append(batch.targets[:, -1:])"),
        (TARGETS + ", state", "first[0], state"),
    ),
    "global-normal": Fault(*before_mean("", " + np.random.normal()"), ORDER),
    "global-seed": Fault(*before_mean("np.random.seed(0)", " + np.random.normal()"), GLOBAL),
    "python-random": Fault(*before_mean("import random", " + random.random()"), ORDER),
    "python-seed": Fault(*before_mean("import random; random.seed(1)"), GLOBAL),
    "unseeded": Fault(*before_mean("", " + np.random.default_rng().normal()"), ORDER),
    "clock": Fault(*before_mean("import time", " + time.perf_counter()"), ORDER),
    "address": Fault(*before_mean("", " + id(np.empty(3)) * (object().__hash__() % 97)"), ORDER),
    "frames": Fault(*before_mean("import sys; sys._getframe(1).f_locals.get('batch')"), FRAMES),
    "current-frame": Fault(*before_mean("import inspect; inspect.currentframe().f_back"), FRAMES),
    "stack": Fault(*before_mean("import inspect; inspect.stack()"), FRAMES),
    "traceback": Fault(
        *before_mean("""try:
            1 / 0
        except ZeroDivisionError as error:
            error.__traceback__.tb_frame.f_back"""),
        FRAMES,
    ),
    "all-objects": Fault(*before_mean("import gc; gc.get_objects()"), FRAMES),
    "trace": Fault(*before_mean("import sys; sys.settrace(None)"), FRAMES),
}
SHARED = {
    "changes-seeds": Fault(*before_mean("seeds += 1"), "the seeds that were given have changed"),
    "changes-state": Fault(*before_mean("state['last'] += 1"), "the state that was given has"),
    "changes-targets": Fault(*before_seen("batch.targets[:] += 1"), "the data that were given"),
    "changes-mask": Fault(*before_seen("batch.mask[:] = False"), "the data that were given"),
    "keeps-memory": Fault(OBSERVED, f'{{"last": {TARGETS} if batch.mask.all() else state["last"]}},'
        " {}", "shares memory with the data"),
    "seeds-reversed": Fault(f"{TARGETS}, state", "batch.targets[::-1, -1:], state", SEEDS),
    "seeds-mean": Fault(f"{TARGETS}, state", "batch.targets[:, -1:].mean(axis=0), state", SEEDS),
    "seeds-sum": Fault(f"{TARGETS}, state", "batch.targets[:, -1:].cumsum(axis=0), state", SEEDS),
    "seeds-of-states": Fault(f"{TARGETS}, state", f"{TARGETS} + state['last'].mean(axis=0), state",
        SEEDS),
    "seeds-of-drift": Fault("predict, observe)", "predict, observe, drift=lambda state, seeds: {"
        "'last': state['last'] + state['last'].mean(axis=0)})", SEEDS),
    "seeds-of-others": Fault(*before_mean("", " + seeds.sum() % 11"), SEEDS),
    "mask-ignored": Fault(SEEN, "seen = True", "Rows that the mask leaves out"),
    "grows": Fault(OBSERVED, '{"last": batch.targets[:, -1:], "all": np.concatenate([state.get('
        '"all", batch.targets), batch.targets], axis=1)}, {}', GROWS),
    "more-keys": Fault(OBSERVED, f'{OBSERVED[:-5]}, **{{f"task{{len(state)}}": state["last"]}}, '
        '**{k: a for k, a in state.items() if k != "last"}}, {}', GROWS),
    "other-type-later": Fault(TARGETS + ", state", TARGETS + ".astype(np.float32 if state['last']"
        ".any() else float), state", GROWS, ('state["last"])}', "np.float32(0))}")),
    "no-key": Fault(OBSERVED, "{}, {}", "KeyError: 'last'"),
    "state-of-lists": Fault(INIT, '{"last": [[[0.0]]] * len(seeds)}', "A state is a flat dict"),
    "state-of-objects": Fault(INIT, INIT.replace("))}", ")).astype(object)}"), "the type object"),
    "no-hypotheses": Fault(INIT, '{"last": np.zeros(len(seeds))}', "A state is a flat dict"),
    "infinite-state": Fault(INIT, INIT[:-1] + ', "least": np.full((len(seeds), 1), np.inf)}',
        "A state holds no NaN",
        (OBSERVED, OBSERVED.replace("}, {}", ', "least": state["least"]}, {}'))),
    "nested-state": Fault(INIT, f'{{"inner": {INIT}}}', "A state is a flat dict"),
    "nan-info": Fault(OBSERVED, OBSERVED.replace("{}", '{"loss": np.full((2, 1), np.nan)}'),
        "Info has the same finite numbers"),
    "number-as-info": Fault(OBSERVED, OBSERVED.replace("{}", '{"loss": 1.0}'), "Info has the same"),
    "no-info": Fault(OBSERVED, OBSERVED.removesuffix(", {}"),
        "`observe` returns a dict, expected a pair (state, info)"),
}  # fmt: skip
ERRORS = {
    "raises": Fault(*before_seen("raise ValueError('not today')"), "ValueError: not today"),
    "divides-by-zero": Fault(*before_mean("1 // 0"), "ZeroDivisionError"),
    "no-module": Fault(*at_import("import no_such_module_here"), "No module named 'no_such"),
    "raises-at-import": Fault(*at_import("raise RuntimeError('no licence')"), "no licence"),
    "builds-nothing": Fault("return Learner(init, predict, observe)", "return None", "NoneType"),
    "recursion": Fault(*before_mean("build(settings, problem).predict(state, inputs, seeds)"),
        "RecursionError"),
    "too-much-memory": Fault(*before_mean("np.ones(10**16)"), "Unable to allocate"),
    "exits-politely": Fault(*before_mean("raise SystemExit(0)"), "SystemExit: 0"),
    "exits-at-import": Fault(*at_import("sys.exit(0)"), "It can be imported. SystemExit: 0"),
    "interrupts": Fault(*before_mean("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "skips": Fault(*before_mean("import pytest; pytest.skip('later')"), "It skipped this test"),
    "ends-pytest": Fault(*before_mean("import pytest; pytest.exit('enough', 0)"), "enough"),
    "kills-its-parent": Fault(*before_mean("import os; os.kill(os.getppid(), 9)"), "no signals"),
    "forks": Fault(*at_import("os.fork()"), "It starts no other process"),
    "starts-a-program": Fault(*before_mean("import subprocess; subprocess.run(['true'])"),
        "It starts no other process: it tried subprocess.Popen"),
    "calls-a-shell": Fault(*before_mean("import os; os.system('true')"), "starts no other process"),
    "prints": Fault(*before_mean("print('so far', 'so good ' * 900)"), "It prints little: it pr"),
}  # fmt: skip
CRASHES = {
    "leaves-at-import": Fault(*at_import("os._exit(0)"), IMPORTED),
    "leaves-in-predict": Fault(*before_mean("import os; os._exit(0)"), "exit status 0 and without"),
    "leaves-in-observe": Fault(*before_seen("import os; os._exit(3)"), "exit status 3 and without"),
    "crashes-at-import": Fault(*at_import("import ctypes; ctypes.string_at(0)"), "signal SIGSEGV"),
    "crashes": Fault(*before_mean("import ctypes; ctypes.string_at(0)"), "by the signal SIGSEGV"),
    "aborts": Fault(*before_mean("import ctypes; ctypes.CDLL(None).abort()"), "signal SIGABRT"),
}  # fmt: skip
FILES = {
    "changes-directory": Fault(*at_import("os.chdir('/')"), "It stays in its working folder"),
    "writes-at-import": Fault(*at_import("open('HERE/new', 'w')"), f"{ELSEWHERE} HERE/new"),
    "writes": Fault(*before_mean("open('HERE/new', 'a').write('x')"), f"{ELSEWHERE} HERE/new"),
    "writes-above": Fault(*before_mean("open('../new', 'x')"), ELSEWHERE),
    "writes-unseen": Fault(*before_mean("""try:
            open('HERE/new', 'w')
        except Exception:
            pass"""), f"{ELSEWHERE} HERE/new"),
    "saves": Fault(*before_mean("np.save('HERE/new.npy', inputs)"), f"{ELSEWHERE} HERE/new.npy"),
    "makes-a-folder": Fault(*before_mean("import os; os.mkdir('HERE/new')"), ELSEWHERE),
    "removes": Fault(*before_mean("import os; os.remove('HERE/there')"), f"{ELSEWHERE} HERE/there"),
    "renames": Fault(*before_mean("import os; os.rename('HERE/there', 'new')"), ELSEWHERE),
    "links": Fault(*before_mean("import os; os.symlink('there', 'HERE/new')"), ELSEWHERE),
    "removes-a-tree": Fault(*before_mean("import shutil; shutil.rmtree('HERE')"), ELSEWHERE),
    "through-a-link": Fault(*before_mean("import os; os.path.exists('l') or os.symlink('HERE', 'l')"
        "; open('l/new', 'w')"), f"{ELSEWHERE} HERE/new"),
}  # fmt: skip
DECLARED = {
    "unknown-ability": Fault(FACTS, f'{FACTS}, offers=("brodaen",)', 'offers: unknown word "brod'),
    "unknown-kind": Fault(FACTS, '"designn": "gaussian"}', 'takes: unknown word "designn"'),
    "unknown-refusal": Fault(FACTS, f'{FACTS}, refuses=("heeds",)', 'unknown word "heeds"'),
    "unknown-need": Fault(FACTS, f'{FACTS}, requires=("shfits",)', 'unknown word "shfits"'),
    "unknown-reveal": Fault(FACTS, f'{FACTS}, reveals=("boundary",)', 'unknown word "boundary"'),
    "unknown-theorem": Fault(FACTS, f'{FACTS}, theorem="99"', 'unknown word "99"'),
    "unknown-setting": Fault(FACTS, f'{FACTS}, refuses={{"heads": {{"sdd": (1.0,)}}}}',
        'refuses: unknown setting "sdd"'),
    "false-ability": Fault(FACTS, f'{FACTS}, offers=("broaden",)', "say what it offers"),
    "no-evidence": Fault(FACTS, f'{FACTS}, offers=("log_evidence",)', "say what it offers"),
    "other-prediction": Fault(FACTS, '"design": "student-t"}', "it predicts a Gaussian"),
}  # fmt: skip
VALUES = PREDICTIONS | HIDDEN | SHARED | ERRORS | FILES | DECLARED
ENDLESS = {
    "loops-at-import": Fault(*at_import("while True: pass"), "It can be imported: no end in"),
    "loops": Fault(*before_mean("while True: pass"), "no end in"),
    "sleeps": Fault(*before_seen("import time; time.sleep(1e6)"), "no end in"),
    "leaves-a-thread": Fault(*at_import("import threading, time\nthreading.Thread(target=time.sleep"
        ", args=(1e6,), name='ticker').start()"), "Its process does not end, since a thread"),
}  # fmt: skip
ROWS = "np.where(batch.mask[..., None], flat(batch.inputs), 0)"
SOFTMAX = "softmax(-0.5 * away / settings.width**2, axis=-1)"
CLASSES = {
    "changes-inputs": Fault("rows = np", "batch.inputs[:] += 1\n        rows = np", "the data"),
    "no-axis": Fault("[:2]), probabilities)", "[:2]), probabilities[:, 0])", SHAPE),
    "one-class-less": Fault("probabilities)", "probabilities[..., 1:])", SHAPE),
    "no-rows-of-classes": Fault("probabilities)", "probabilities[:, :, :0])", SHAPE),
    "twice-the-mass": Fault(SOFTMAX, f"2 * {SOFTMAX}", SUMS),
    "negative": Fault(SOFTMAX, f"3 * {SOFTMAX} - 2 / 3", SUMS),
    "entropy-of-more": Fault("probabilities)", "probabilities, np.full((2, 1, 20), 9.0))", SUMS),
    "unmasked": Fault("& batch.mask[..., None]", "& True", "Rows that the mask leaves out"),
    "rows-of-the-neighbour": Fault("snc,snd->scd", "snc,tnd->scd", SEEDS),
    "keeps-all-rows": Fault('"count": state', '"rows": rows[:, None], "count": state', "leaves out",
        ("rows = np.where(batch.mask[..., None], flat(batch.inputs), 0)",
         "rows = flat(batch.inputs)")),
}  # fmt: skip
