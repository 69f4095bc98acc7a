"""Generated documents in which some words change their meaning at known periods.

A document has one theme. Each of its words is drawn from the common words, which all themes share,
or from the theme's own words. The meaning of a word is its theme. At a known period each planted
word moves from its theme to another one and stays as frequent, so that only the words around it
show the change. Within a theme, and among the common words, the word of rank r has a probability in
proportion to 1 / (r + flattening).

Two settings add properties of real text that are no change of meaning. With `drift` the log
frequency of each common word in each theme is a random walk over the periods, so that its contexts
are never quite the same. With `burstiness` a document has its own probabilities of words, drawn
from a Dirichlet distribution around these (Madsen, Kauchak and Elkan 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.attributes import about
from shiftbench.data.text import _count_store, _counts
from shiftbench.data.text._count_store import (
    BY_TASK,
    Documents,
    Realisation,
    held_out_documents,
    problem,
    task,
)

FACTS = Facts(
    gives={"counts": True, "warm-up": True, "planted": True, "held-out": {"not held_out": (0.0,)}},
    varies=("documents",),
    ahead={"warm-up is of all periods": True},
)

__all__ = ["Settings", "build", "held_out_documents", "problem", "task"]


@dataclass(frozen=True)
class Settings:
    realisations: Annotated[int, Ge(1)] = 5
    """Number of independent realisations; seed s uses realisation s modulo this."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first realisation; other numbers have other documents."""
    periods: Annotated[int, Ge(2)] = 12
    """Number of periods."""
    documents: Annotated[int, Ge(2)] = 100
    """Number of documents in a period."""
    document_length: Annotated[int, Ge(2)] = 100
    """Number of words in a document."""
    themes: Annotated[int, Ge(2)] = 6
    """Number of themes."""
    words_per_theme: Annotated[int, Ge(1)] = 20
    """Number of words that belong to a theme at the start."""
    common_words: Annotated[int, Ge(1)] = 20
    """Number of words that all themes share."""
    common_share: Annotated[float, Ge(0), Lt(1)] = 0.4
    """Probability that a word of a document is a common one."""
    flattening: Annotated[float, Gt(0)] = 5.0
    """Evenness of the frequencies; 0 would be Zipf's law."""
    drift: Annotated[float, Ge(0)] = 0.0
    """Standard deviation of the step of the log frequency of a common word in each theme from one
    period to the next; 0: the frequency stays the same."""
    burstiness: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Intraclass correlation of the words of a document: the Dirichlet distribution of its
    probabilities has the concentration 1 / burstiness - 1; 0: all documents of a theme have the
    same probabilities."""
    changes: Annotated[int, Ge(1)] = 20
    """Number of planted words, each of which changes once."""
    window: Annotated[int, Ge(1)] = 4
    """Largest distance at which two words count as a pair."""
    weighting: Literal["linear", "flat", "harmonic"] = "linear"
    """Weight of a pair at distance d: (window + 1 - d) / window, 1, or 1 / d."""
    held_out: Annotated[float, Ge(0), Lt(1)] = 0.2
    """Share of the documents of each period that are held out, rounded."""


class Planted(NamedTuple):
    """The truth of one realisation: theme of each word and period [T, V], changed [T, V] bool.

    The theme of a common word is -1.
    """

    theme: np.ndarray
    changed: np.ndarray


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """Return the store, with the truth in changed and theme [realisation, task, word].

    No learner sees the truth. Realisation r does not depend on the number of realisations.
    UserError for more changes than words.
    """
    own = settings.themes * settings.words_per_theme
    if settings.changes > own:
        raise UserError(
            f"Stream planted-words: changes is {settings.changes}, but the themes have {own}"
            " words. Lower changes, or raise themes or words_per_theme."
        )
    numbers = range(settings.first_realisation, settings.first_realisation + settings.realisations)
    drawn = [_realisation(settings, number) for number in numbers]
    changed = np.stack([planted.changed for planted, _ in drawn])
    theme = np.stack([planted.theme for planted, _ in drawn])
    store = _count_store.tree(
        words(settings),
        np.arange(settings.periods),
        [counted for _, counted in drawn],
        _counts.weights(settings.weighting, settings.window),
        {
            "title": "Generated documents with planted changes of meaning",
            "licence": "MIT; generated by shiftbench",
        },
        shift=np.asarray(changed.any(axis=2)),
    )
    dims = (*BY_TASK, "word")
    truth = {
        "changed": (dims, changed, about("whether the word changes with this period")),
        "theme": (dims, theme, about("number of the word's theme; -1 is common")),
    }
    store.dataset = store.to_dataset().assign(truth)
    return store


def words(settings: Settings) -> list[str]:
    """Return names by the first theme, such as a-03; common words have names such as the-07."""
    common = [f"the-{number:02d}" for number in range(settings.common_words)]
    return common + [
        f"{_letters(theme)}-{number:02d}"
        for theme in range(settings.themes)
        for number in range(settings.words_per_theme)
    ]


def _letters(number: int) -> str:
    """Return a to z, aa, ab and so on."""
    rest, last = divmod(number, 26)
    return (_letters(rest - 1) if rest else "") + chr(ord("a") + last)


def texts(settings: Settings, number: int) -> tuple[Planted, list[np.ndarray]]:
    """Return the truth of a realisation and its documents, as numbers of words, period by period.

    Each period has as many documents as any other.
    """
    random = seeds.generator(seeds.fold("planted-words", number))
    planted = _planted(settings, random)
    weight = _frequencies(settings, seeds.generator(seeds.fold("planted-words", number, "drift")))
    of_theme = random.integers(settings.themes, size=(settings.periods, settings.documents))
    documents = [
        _document(settings, planted.theme[t], weight[t, theme], theme, random)
        for t in range(settings.periods)
        for theme in of_theme[t]
    ]
    return planted, documents


def _realisation(settings: Settings, number: int) -> tuple[Planted, Realisation]:
    planted, documents = texts(settings, number)
    return planted, _counted(settings, documents)


def _planted(settings: Settings, random: np.random.Generator) -> Planted:
    """Draw the theme of each word in each period; each planted word moves once."""
    common, own = settings.common_words, settings.themes * settings.words_per_theme
    start = np.repeat(
        np.arange(-1, settings.themes), [common] + [own // settings.themes] * settings.themes
    )
    theme = np.tile(start, (settings.periods, 1))
    words = common + random.choice(own, settings.changes, replace=False)
    for word in words:
        when = random.integers(1, settings.periods)
        theme[when:, word] += random.integers(1, settings.themes)
        theme[when:, word] %= settings.themes
    changed = np.diff(theme, axis=0, prepend=theme[:1]) != 0
    return Planted(theme, changed)


def _frequencies(settings: Settings, random: np.random.Generator) -> np.ndarray:
    """Return the weight of each word within its theme or the common words, [T, themes, V]."""
    ranks = [np.arange(settings.common_words)] + settings.themes * [
        np.arange(settings.words_per_theme)
    ]
    weight = 1 / (1 + np.concatenate(ranks) + settings.flattening)
    weights = np.tile(weight, (settings.periods, settings.themes, 1))
    shape = settings.periods - 1, settings.themes, settings.common_words
    walk = np.cumsum(settings.drift * random.standard_normal(shape), axis=0)
    weights[1:, :, : settings.common_words] *= np.exp(walk)
    return weights


def _document(
    settings: Settings,
    themes: np.ndarray,
    weight: np.ndarray,
    theme: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Draw the words of a document of one theme, as numbers."""
    common, own = weight * (themes == -1), weight * (themes == theme)
    share = settings.common_share if own.any() else 1.0
    chance = share * common / common.sum() + (1 - share) * own / max(own.sum(), 1e-300)
    if settings.burstiness:
        chance = random.dirichlet((1 / settings.burstiness - 1) * chance)
    return random.choice(len(weight), settings.document_length, p=chance).astype(np.int32)


def _number_held_out(settings: Settings) -> int:
    """Return how many documents of a period are held out: if any, at least one and not all."""
    if not settings.held_out:
        return 0
    number = round(settings.held_out * settings.documents)
    return min(max(number, 1), settings.documents - 1)


def _counted(settings: Settings, texts: Sequence[np.ndarray]) -> Realisation:
    """Count the training documents; the last documents of each period are held out."""
    each, vocabulary = settings.documents, len(words(settings))
    task = np.repeat(np.arange(settings.periods), each)
    held_out = np.arange(len(texts)) % each >= each - _number_held_out(settings)
    train = [text for text, out in zip(texts, held_out, strict=True) if not out]
    weights = _counts.weights(settings.weighting, settings.window)
    joined = _counts.text(train, task[~held_out], settings.window)
    unigram = np.zeros((settings.periods, vocabulary), np.int64)
    np.add.at(
        unigram, (np.repeat(task[~held_out], settings.document_length), np.concatenate(train)), 1
    )
    kept = [text for text, out in zip(texts, held_out, strict=True) if out]
    documents = Documents(
        name=np.array([f"{t}-{number}" for t in range(settings.periods) for number in range(each)]),
        task=task,
        held_out=held_out,
        tokens=np.full(len(texts), settings.document_length),
        start=settings.document_length * np.arange(len(kept) + 1),
        text=np.concatenate([np.zeros(0, np.int32), *kept]),
    )
    rows = _counts.count(joined, weights, settings.periods, vocabulary)
    return Realisation(rows, unigram, unigram.sum(axis=1), documents)
