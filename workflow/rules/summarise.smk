"""Summaries: the labelled cube of scores of a study and two tables, from its runs."""


rule summarise_study:
    input:
        inputs("summarise_study"),
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
    priority: of_job("summarise_study", "priority")
    resources:
        runtime=resource("summarise_study", "minutes"),
        mem_mb=resource("summarise_study", "memory_mb"),
    params:
        spec=of_job("summarise_study", "spec"),
        job=called("summarise_study"),
    message:
        "Summarising {wildcards.study}"
    shell:
        jobs.COMMAND
