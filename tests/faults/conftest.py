"""The logs of a deployment beside every failure."""

from ..e2e.conftest import pytest_runtest_makereport  # noqa: F401 - the folder above is no package with a name
