"""Overview: what is made of all studies together. The ledger of what papers claim."""


rule write_ledger:
    input:
        tables_of_claims(),
    output:
        report(
            "<results>/overview/ledger.csv",
            caption="../report/ledger.rst",
            category="overview",
            labels={"result": "ledger", "kind": "table"},
        ),
        "<results>/overview/ledger.md",
        report(
            "<results>/overview/ledger.svg",
            caption="../report/ledger.rst",
            category="overview",
            labels={"result": "ledger", "kind": "figure"},
        ),
        "<results>/overview/ledger.png",
    log:
        "<logs>/overview/ledger.log",
    resources:
        runtime=30,
        mem_mb=2500,
    params:
        spec=ledger_spec,
    message:
        "Writing the ledger of claims"
    shell:
        "python -m shiftbench --stack light ledger"
        ' --config "$SHIFTBENCH_CONFIG" --tables {input:q}'
        ' --output "$SHIFTBENCH_RESULTS"/overview/ledger'
        " --log {log:q} --digest {params.spec[digest]}"
