"""Figures and tables, one file each; they read results and never train or import TensorFlow.

Found by file name. Files that start with an underscore are shared helpers.
"""
