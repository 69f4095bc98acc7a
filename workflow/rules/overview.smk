"""Overview: what is made of all studies together: the ledger of claims, ranks of methods."""


rule write_ledger:
    input:
        inputs("write_ledger"),
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
        runtime=resource("write_ledger", "minutes"),
        mem_mb=resource("write_ledger", "memory_mb"),
    params:
        spec=of_job("write_ledger", "spec"),
        job=called("write_ledger"),
    message:
        "Writing the ledger of claims"
    shell:
        jobs.COMMAND


rule rank_methods:
    input:
        inputs("rank_methods"),
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
        runtime=resource("rank_methods", "minutes"),
        mem_mb=resource("rank_methods", "memory_mb"),
    params:
        spec=of_job("rank_methods", "spec"),
        job=called("rank_methods"),
    message:
        "Ranking the methods of tuned studies"
    shell:
        jobs.COMMAND
