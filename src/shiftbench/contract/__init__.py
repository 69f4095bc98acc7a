"""What every component promises, as tests: over ours in tests/, over a user's by the verb `test`.

Not imported by anything that runs: pytest is needed here alone.
"""

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{part}" for part in ("learners", "models", "scores", "streams"))
)
