"""Metrics: the rows of METRICS in each module, and the functions that compute them.

A module has metrics of predictions (stages "before" and "after") or of finished runs ("run"), not
both, because the code of a run depends on the first kind only. Modules with a leading
underscore are shared.
"""
