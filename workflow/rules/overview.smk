"""Overview of all studies: the ledger of claims."""


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
