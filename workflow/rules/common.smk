"""What the rules share: the config, checked as a whole; where results go; helper functions.

No TensorFlow here: on a cluster every job reads these files.
"""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

ROOT = Path(
    workflow.current_basedir.join("../..").get_path_or_uri(secret_free=False)
).resolve()
sys.path.insert(0, str(ROOT / "src"))

from shiftbench import lock_owner
from shiftbench.errors import UserError
from shiftbench.planning import components, endings, own_files, specs
from shiftbench.planning import config as planning_config
from shiftbench.store import raw


def config_file():
    """The one config file: that of the command line, or the embedded one."""
    if workflow.config_settings.config:
        raise WorkflowError(
            "--config KEY=VALUE is not taken; change the config file, or copy it"
        )
    chosen = workflow.config_settings.configfiles
    if len(chosen) > 1:
        raise WorkflowError("name one config file; several are not merged")
    return Path(chosen[0]) if chosen else ROOT / "config" / "embedded.yaml"


def checked_config():
    try:
        return planning_config.load(CONFIG_FILE)
    except UserError as error:
        raise WorkflowError(str(error)) from None


CONFIG_FILE = config_file()
CONFIG = checked_config()
RESULTS = f"results/{CONFIG_FILE.stem}"
TRIALS = {
    study + endings.TRIALS for study, plan in CONFIG.studies.items() if plan.tuning
}
# The config's order of studies is the order of the work.
PRIORITY = {
    study: place for place, study in enumerate(reversed(CONFIG.studies), start=1)
}

# A dry run takes no lock, and no job of a cluster or of a group does.
if workflow.exec_mode == ExecMode.DEFAULT and not workflow.output_settings.dryrun:
    lock_owner.enter(Path(".snakemake"), logger.warning)

# Jobs run this checkout with this Python, wherever they are started.
os.environ.update(
    SHIFTBENCH_CONFIG=str(CONFIG_FILE),
    SHIFTBENCH_RESULTS=RESULTS,
    PYTHONPATH=str(ROOT / "src"),
    PATH=os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    ),
)


pathvars:
    results=RESULTS,
    logs=f"{RESULTS}/logs",


wildcard_constraints:
    dataset=r"[a-z0-9-]+",
    study="|".join(CONFIG.studies),
    stream="|".join(CONFIG.streams),
    variant=r"[a-z0-9-]+",
    name=r"[a-z0-9-]+",
    first=r"\d+",
    last=r"\d+",


def all_results():
    of_studies = [path for study in CONFIG.studies for path in study_results(study)]
    return of_studies + overview_results()


def overview_results():
    """The ledger, where a study judges a claim; ranks, where several are tuned."""
    folder, kinds = f"{RESULTS}/overview", ("csv", "md", "svg", "png")
    ledger = [f"{folder}/ledger.{kind}" for kind in kinds if specs.judging(CONFIG)]
    return ledger + [
        f"{folder}/ranks.{kind}" for kind in ("svg", "png") if specs.ranked(CONFIG)
    ]


def scores_of_ranked():
    """The scores by seed of the studies whose methods are ranked."""
    folder = f"{RESULTS}/studies"
    return [f"{folder}/{study}/scores.csv" for study in specs.ranked(CONFIG)]


def tables_of_claims():
    """Of the studies that judge a claim, in the config's order."""
    folder = f"{RESULTS}/studies"
    return [f"{folder}/{study}/tables/claims.csv" for study in specs.judging(CONFIG)]


def study_results(study):
    folder = f"{RESULTS}/studies/{study}"
    stems = {"figure": ("figures", ["svg", "png"]), "table": ("tables", ["csv", "md"])}
    # Stores are asked for by name. Snakemake does not miss a file in the middle while what
    # is made from it is there: after a rerun that was killed when the old store was gone
    # already, or in a fresh clone, which has the published summaries, figures and tables.
    wanted = [*stores_of_streams(study), *stores_of_runs(study)]
    made = ("scores.zarr.zip", "scores.csv", "summary.csv")
    wanted += [f"{folder}/{name}" for name in made]
    wanted += choices(study.removesuffix(endings.TRIALS)) if study in TRIALS else []
    for name in CONFIG.studies[study].artefacts:
        kind, suffixes = stems[components.constant("artefacts", name, "KIND")]
        wanted += [f"{folder}/{kind}/{name}.{suffix}" for suffix in suffixes]
    return wanted


def raw_file_spec(wildcards):
    return specs.raw_file(wildcards.dataset, wildcards.file)


def stream_spec(wildcards):
    return specs.stream(CONFIG, wildcards.stream)


def words_spec(wildcards):
    return specs.words(CONFIG, wildcards.stream)


def part_spec(wildcards):
    return specs.part(CONFIG, wildcards.stream, int(wildcards.shard))


def run_spec(wildcards):
    seeds = int(wildcards.first), int(wildcards.last)
    return specs.run(
        CONFIG, wildcards.study, wildcards.stream, wildcards.variant, seeds
    )


def warm_up_spec(wildcards):
    seeds = int(wildcards.first), int(wildcards.last)
    return specs.warm_up(
        CONFIG, wildcards.study, wildcards.stream, wildcards.name, seeds
    )


def warm_up_of_run(wildcards):
    """The warm-up that a run shares with others of its study, if it does."""
    study, stream = wildcards.study, wildcards.stream
    name = specs.warm_up_name(CONFIG, study, stream, wildcards.variant)
    block = f"{wildcards.first}-{wildcards.last}"
    return (
        [f"{RESULTS}/warm-ups/{study}/{stream}/{name}/{block}.zarr.zip"] if name else []
    )


def choice_spec(wildcards):
    return specs.choice(CONFIG, wildcards.study, wildcards.stream, wildcards.learner)


def choice(study, stream, learner):
    """The file that says which settings of a learner were best."""
    return f"{RESULTS}/studies/{study}{endings.TRIALS}/choices/{stream}/{learner}.json"


def choices(study):
    plan = CONFIG.studies[study]
    return [
        choice(study, stream, learner)
        for stream in plan.streams
        for learner in plan.methods
    ]


def choice_of_run(wildcards):
    """The choice that a run of a tuned study waits for; none for all other runs."""
    if CONFIG.studies[wildcards.study].tuning is None:
        return []
    return [choice(wildcards.study, wildcards.stream, wildcards.variant)]


def scores_spec(wildcards):
    return specs.scores(CONFIG, wildcards.study)


def artefact_spec(wildcards):
    return specs.artefact(CONFIG, wildcards.study, wildcards.artefact)


def ledger_spec(wildcards):
    return specs.ledger(CONFIG, CONFIG_FILE.stem)


def ranks_spec(wildcards):
    return specs.ranks(CONFIG)


def fetched_datasets():
    """A pattern of the data sets that can be fetched; others are put in place by hand."""
    return "|".join(name for name, dataset in raw.table().items() if dataset.files)


def raw_files(wildcards):
    """The user's files, or the raw files of a stream's data set; none of what a package carries.

    Of data that cannot be fetched, those that are there.
    """
    settings = CONFIG.streams[wildcards.stream].settings
    if named := own_files.named(settings):
        return [str(file) for path in named.values() for file in own_files.files(path)]
    dataset = settings.get("dataset")
    folder = Path("data/raw") / str(dataset)
    known = [str(folder / file) for file in stream_spec(wildcards)["data"]]
    return known or sorted(str(p) for p in folder.rglob("*") if p.is_file())


def streams(sharded):
    """A pattern of the streams that are counted in shards, or of all others."""
    names = [
        name
        for name, stream in CONFIG.streams.items()
        if ("shards" in stream.settings) == sharded
    ]
    return "|".join(names) or "(?!)"


def shards(wildcards):
    """The counts of all shards of a stream."""
    number = CONFIG.streams[wildcards.stream].settings["shards"]
    folder = f"{RESULTS}/streams/{wildcards.stream}"
    return [f"{folder}/{shard}.zarr.zip" for shard in range(number)]


def stores_of_streams(study):
    streams = CONFIG.studies[study].streams
    return [f"{RESULTS}/streams/{stream}.zarr.zip" for stream in streams]


def stores_of_runs(study):
    plan = CONFIG.studies[study]
    return [
        f"{RESULTS}/runs/{study}/{stream}/{variant}/{first}-{last}.zarr.zip"
        for stream in plan.streams
        for variant in plan.learners
        for first, last in CONFIG.blocks(study)
    ]


def stream_stores(wildcards):
    return stores_of_streams(wildcards.study)


def run_stores(wildcards):
    return stores_of_runs(wildcards.study)


def study_priority(wildcards):
    return PRIORITY[wildcards.study]


def stream_priority(wildcards):
    return priority_of_streams({wildcards.stream})


def dataset_priority(wildcards):
    streams = CONFIG.streams.items()
    dataset = wildcards.dataset
    return priority_of_streams(
        {name for name, stream in streams if stream.settings.get("dataset") == dataset}
    )


def priority_of_streams(names):
    """That of the first study on one of the streams."""
    studies = CONFIG.studies.items()
    found = [PRIORITY[study] for study, plan in studies if names & set(plan.streams)]
    return max(found, default=0)


def artefacts_of_kind(kind):
    """A pattern of all artefacts of a kind."""
    names = components.names("artefacts")
    return "|".join(
        name for name in names if components.constant("artefacts", name, "KIND") == kind
    )


def study_setting(key):
    """A function from wildcards to a setting of the study: threads, minutes or memory."""
    return lambda wildcards: getattr(CONFIG.studies[wildcards.study], key)
