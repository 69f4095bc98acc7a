"""Streams of images."""
