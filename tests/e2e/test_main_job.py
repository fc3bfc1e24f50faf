"""The main job works in both deployments."""

import pytest

from .main_job import MainJob

pytestmark = pytest.mark.both_deployments


async def test_the_main_job(deployment, tmp_path, receiver):
    await MainJob(deployment.url, tmp_path, receiver).run()
