"""Overview: what is made of all studies together: the ledger of claims, ranks of methods."""


rule write_ledger:
    input:
        tables_of_claims(),
    output:
        report(
            "<bench>/overview/ledger.csv",
            caption="../report/ledger.rst",
            category="overview",
            labels={"result": "ledger", "kind": "table"},
        ),
        "<bench>/overview/ledger.md",
        report(
            "<bench>/overview/ledger.svg",
            caption="../report/ledger.rst",
            category="overview",
            labels={"result": "ledger", "kind": "figure"},
        ),
        "<bench>/overview/ledger.png",
    log:
        "<logs>/overview/ledger.log",
    resources:
        runtime=30,
        mem_mb=2500,
    params:
        spec=ledger_spec,
        job=JOB,
    message:
        "Writing the ledger of claims"
    shell:
        "{params.job.call} --stack light ledger"
        " --config {params.job.config:q} --tables {input:q}"
        " --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"


rule rank_methods:
    input:
        scores_of_ranked(),
    output:
        report(
            "<bench>/overview/ranks.svg",
            caption="../report/ranks.rst",
            category="overview",
            labels={"result": "ranks", "kind": "figure"},
        ),
        "<bench>/overview/ranks.png",
    log:
        "<logs>/overview/ranks.log",
    resources:
        runtime=30,
        mem_mb=2500,
    params:
        spec=ranks_spec,
        job=JOB,
    message:
        "Ranking the methods of tuned studies"
    shell:
        "{params.job.call} --stack light ranks"
        " --config {params.job.config:q} --scores {input:q}"
        " --output {output:q}"
        " --log {log:q} --digest {params.spec[digest]}"
