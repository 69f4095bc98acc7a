"""Contract tests of components: ours run them in tests/, users run them with the verb `test`.

Nothing that computes results imports this package, since only this one needs pytest.
"""

import pytest

REWRITTEN = ("declarations", "learners", "models", "scores", "states", "streams")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in REWRITTEN))
