"""The deployments of the end-to-end tests."""

import os

import pytest

from ingot_chassis.clock import now

from ..e2e.conftest import (
    CLUSTER,
    STANDALONE,
    backing_servers,
    deployment,
)

__all__ = ["backing_servers", "deployment"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `INGOT_TEST_DEPLOYMENTS=turns` the deployment alternates by day, because these tests are few."""
    if os.environ.get("INGOT_TEST_DEPLOYMENTS", "both") == "both":
        return
    other = (STANDALONE, CLUSTER)[now().toordinal() % 2]
    left_out = [item for item in items if "tests/oracle/" in item.nodeid and f"[{other}]" in item.nodeid]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
