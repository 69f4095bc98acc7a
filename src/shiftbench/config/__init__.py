"""Configs, components, specs and the plan: all that is known before anything runs."""
