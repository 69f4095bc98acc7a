"""Streams of word counts from texts."""
