"""Figures and tables, one module each; they read results and never train or import TensorFlow.

An artefact is found by its file name. Files that start with an underscore are shared helpers.
"""
