"""Words that figures of a study show, which its stream must have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import nearest

if TYPE_CHECKING:  # jobs import this, and nothing of a config
    from shiftbench.config.schema import Config


def option(config: Config, stream: str, studies: Iterable[str]) -> tuple[str, ...]:
    """Return the option of jobs with the words that figures of studies show of a stream.

    A study shows the words of its first stream.
    """
    words = [
        f"{name}={word}"
        for name in studies
        if config.studies[name].streams[0] == stream
        for word in config.studies[name].words
    ]
    return ("--shown-words", *words) if words else ()


def refuse_absent(shown: Iterable[str], stream: str, vocabulary: Iterable[object]) -> None:
    """UserError where a study shows a word that the stream does not have.

    shown: each as STUDY=WORD.
    """
    words = dict.fromkeys(map(str, vocabulary))
    for study, _, word in (text.partition("=") for text in shown):
        if word not in words:
            (closest,) = nearest(word, words, 1, 0.0) or [""]
            raise UserError(
                f'study {study}: its word "{word}" is not in the vocabulary of stream {stream};'
                f' the nearest is "{closest}". Change it in `words`, or raise the stream\'s'
                " vocabulary_size"
            )
