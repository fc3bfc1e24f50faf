"""The main job works in both deployments."""

from pathlib import Path

from deployments import Deployment
from main_job import MainJob

from ingot_chassis.testing.receiver import Receiver


async def test_the_main_job(deployment: Deployment, tmp_path: Path, receiver: Receiver) -> None:
    await MainJob(deployment.url, tmp_path, receiver).run()
