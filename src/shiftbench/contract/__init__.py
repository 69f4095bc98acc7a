"""Contract tests of components: ours run them in tests/, users run them with the verb `test`.

Not imported by anything that runs: pytest is needed here alone.
"""

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{part}" for part in ("learners", "models", "scores", "streams"))
)
