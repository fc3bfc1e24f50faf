"""The logs of a deployment, next to every failure."""

from ..e2e.conftest import pytest_runtest_makereport  # noqa: F401 - the parent folder is no package
