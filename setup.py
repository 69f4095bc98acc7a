"""Build wheels that carry the files of the checkout that the package needs (core/checkout.py)."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CARRIED = (
    "Snakefile",
    "workflow/**/*",
    "profiles/*/*.yaml",
    "config/**/*.yaml",
    "envs/requirements*.lock",
    "docs/*.yaml",
)


class WithCheckout(build_py):
    """Copies the files that are no Python; an editable install uses those of the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in sorted(path for one in CARRIED for path in Path().glob(one) if path.is_file()):
            target = Path(self.build_lib, "shiftbench/_checkout", path)
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": WithCheckout})
