"""People of a deployment whose git uses one transport after the other, and a repository with a history."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.history import commit_file, git

from .people import People


@pytest.fixture(params=["http", "ssh"])
def transport(request, deployment):
    if shutil.which("ssh") is None and request.param == "ssh":
        pytest.skip("ssh is not installed")
    deployment.serve_ssh()
    return request.param


@pytest.fixture
async def people(deployment, transport, tmp_path):
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as http:
        yield People(http, tmp_path, transport)


@pytest.fixture
async def ann(people):
    return await people.add("ann")


@pytest.fixture
async def bob(people):
    return await people.add("bob")


@dataclass
class Project:
    """A repository as the API shows it, its URL, and its owner's work tree with ``commits``, oldest first."""

    repository: Any
    url: str
    work: Path
    commits: list[str]

    @property
    def path(self) -> str:
        """Of the repository, in the API."""
        return f"repos/{self.repository['full_name']}"


@pytest.fixture
async def app(ann, tmp_path):
    """Of Ann, with three commits on `main`."""
    work = tmp_path / "work"
    await git("init", "-q", "-b", "main", work)
    commits = [
        await commit_file(work, "a.txt", f"{number}\n".encode(), f"Write {number}") for number in range(3)
    ]
    repository = await ann.create("app")
    project = Project(repository, ann.url(repository), work, commits)
    await git("remote", "add", "origin", project.url, cwd=work)
    await ann.git("push", "-q", "origin", "main", cwd=work)
    return project
