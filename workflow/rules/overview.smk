"""Overview: what is made of all studies together: the ledger of claims, ranks of methods."""


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


rule rank_methods:
    input:
        scores_of_ranked(),
    output:
        report(
            "<results>/overview/ranks.svg",
            caption="../report/ranks.rst",
            category="overview",
            labels={"result": "ranks", "kind": "figure"},
        ),
        "<results>/overview/ranks.png",
    log:
        "<logs>/overview/ranks.log",
    resources:
        runtime=30,
        mem_mb=2500,
    params:
        spec=ranks_spec,
    message:
        "Ranking the methods of tuned studies"
    shell:
        "python -m shiftbench --stack light ranks"
        ' --config "$SHIFTBENCH_CONFIG" --scores {input:q}'
        ' --output "$SHIFTBENCH_RESULTS"/overview/ranks'
        " --log {log:q} --digest {params.spec[digest]}"
