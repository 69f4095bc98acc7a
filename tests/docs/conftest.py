"""The headless browser of the tests of the site of results."""

from tests.publish.site.conftest import browser, page, serious

__all__ = ["browser", "page", "serious"]
