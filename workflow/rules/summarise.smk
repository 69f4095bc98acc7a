"""Summaries: the runs of a study to one labelled cube of scores, and two tables."""


rule summarise_study:
    input:
        streams=stream_stores,
        runs=run_stores,
    output:
        scores="<bench>/studies/{study}/scores.zarr.zip",
        summary=report(
            "<bench>/studies/{study}/summary.csv",
            caption="../report/summary.rst",
            category="{study}",
            labels={"result": "summary", "kind": "data"},
        ),
        tidy="<bench>/studies/{study}/scores.csv",
    log:
        "<logs>/studies/{study}/summary.log",
    priority: study_priority
    resources:
        runtime=30,
        mem_mb=study_setting("memory_mb"),
    params:
        spec=scores_spec,
        job=JOB,
    message:
        "Summarising {wildcards.study}"
    shell:
        "{params.job.call} --stack light summarise {wildcards.study}"
        " --config {params.job.config:q} --scores {output.scores:q} --summary {output.summary:q}"
        " --tidy {output.tidy:q}"
        " --streams {input.streams:q} --runs {input.runs:q}"
        " --log {log:q} --digest {params.spec[digest]}"
