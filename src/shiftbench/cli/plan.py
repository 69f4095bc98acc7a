"""The verb `plan`: what would run, why, and what that would cost."""

from __future__ import annotations

import argparse
import json
import os


def plan(options: argparse.Namespace) -> None:
    """List what would run, why, and what it would cost; run nothing."""
    from shiftbench.forecast import plan, render

    cores = options.cores or os.cpu_count() or 1
    if options.budget:
        compared = plan.at_budget(options.config, options.budget, plan.estimator())
        print(*render.budgets(compared, options.budget), sep="\n")
        return
    made = plan.make(options.config, options.deep)
    if options.json:
        print(json.dumps(render.as_data(made, cores), indent=1))
    elif options.why:
        found = plan.of_method(made, options.why)
        print(*(render.in_full(found) if found else ["Nothing of it would run."]), sep="\n")
    else:
        print(*render.lines(made, cores), sep="\n")
