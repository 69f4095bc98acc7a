"""A user's own texts, in which one word changes its meaning in a known year."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd

THEMES = (
    ["song", "choir", "melody", "piano", "violin", "dance", "concert", "opera", "rhythm", "tune"],
    ["harbour", "sailor", "deck", "anchor", "cargo", "voyage", "captain", "mast", "wharf", "tide"],
    ["wheat", "field", "harvest", "plough", "barn", "cattle", "meadow", "hay", "grain", "fence"],
)
COMMON = ["the", "of", "and", "to", "a", "in", "that", "was"]
WORD, YEARS, CHANGE = "band", range(2000, 2008), 2004
"""The word, the years, and the year in which it moves from texts on ships to texts on music."""


def write(folder: Path) -> None:
    """Write 24 texts per year, each on one theme, under file names as users choose them."""
    folder.mkdir(parents=True)
    draw = random.Random(1)
    for year in YEARS:
        for number in range(24):
            theme = number % len(THEMES)
            own = [*THEMES[theme], *[WORD] * 2 * (theme == int(year < CHANGE))]
            words = (draw.choice(COMMON if draw.random() < 0.4 else own) for _ in range(120))
            text = " ".join(words)
            (folder / f"{year}-05-{number + 1:02d}_speech.txt").write_text(text + "\n")


def assert_found(study: Path) -> None:
    """Assert that the figure exists and that the word moves most, near its year, to music."""
    assert (study / "figures" / "word-trajectories.png").stat().st_size > 1e4
    first = pd.read_csv(study / "tables" / "word-changes.csv").iloc[0]
    assert first["word"] == WORD and abs(int(first["period"]) - CHANGE) <= 1
    rows = pd.read_csv(study / "tables" / "word-changes.csv")
    of_word = rows[rows["word"] == WORD]
    assert set(of_word["before"].iloc[0].split(", ")) <= {*THEMES[1]}
    assert set(of_word.sort_values("period")["after"].iloc[-1].split(", ")) <= {*THEMES[0]}
