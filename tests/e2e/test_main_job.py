"""The main job works in both deployments."""

from .main_job import MainJob


async def test_the_main_job(deployment, tmp_path, receiver):
    await MainJob(deployment.url, tmp_path, receiver).run()
