"""Shared by all tests: quiet TensorFlow, Keras 2 for TensorFlow Probability."""

import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
