"""Contract tests of components: ours run them in tests/, users run them with the verb `test`.

Not imported by anything that runs: pytest is needed here alone.
"""

import pytest

REWRITTEN = ("declarations", "learners", "models", "scores", "states", "streams")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in REWRITTEN))
