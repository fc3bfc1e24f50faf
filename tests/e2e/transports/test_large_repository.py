"""A large repository is pushed and cloned over HTTP and SSH. No process of Ingot holds more than a small
part.

INGOT_LARGE_MIB is its size in MiB; `make soak` takes 2 GiB.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

import pytest
from tests.e2e.deployments import Deployment
from tests.e2e.history import ENVIRONMENT, git

MIB = 2**20
LARGE_MIB = int(os.environ.get("INGOT_LARGE_MIB", "32"))
FILE_MIB = 4
MAX_GROWTH = 24 * MIB
"""Of each process, during one exchange, however large the repository is."""
AS_IT_IS = ("-c", "core.compression=0", "-c", "pack.window=0", "-c", "core.bigFileThreshold=1m")
"""Nothing of it can be compressed, and to try that takes longer than all else."""


@pytest.fixture(scope="session")
def work(tmp_path_factory) -> Path:
    """A work tree with one commit of so many bytes that are like no others."""
    folder = tmp_path_factory.mktemp("large") / "work"
    folder.mkdir()
    for number in range(LARGE_MIB // FILE_MIB):
        (folder / f"{number}.bin").write_bytes(os.urandom(FILE_MIB * MIB))
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "All of it"]):
        subprocess.run(["git", *AS_IT_IS, *command], cwd=folder, env=ENVIRONMENT, check=True)
    return folder


class Growth:
    """The maximum growth of each process inside the block."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self.bytes: dict[str, int] = {}

    def __enter__(self) -> Self:
        for process in self._deployment.processes().values():
            Path(f"/proc/{process}/clear_refs").write_text("5")  # proc(5): the peak begins again
        self._before = self._sizes("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        after = self._sizes("VmHWM")
        self.bytes = {name: after[name] - before for name, before in self._before.items()}

    def _sizes(self, field: str) -> dict[str, int]:
        return {name: memory(process, field) for name, process in self._deployment.processes().items()}


def memory(process: int, field: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


async def test_no_process_has_a_large_repository_in_memory(deployment, ann, work, tmp_path):
    url, small = [ann.url(await ann.create(name)) for name in ("large", "small")]
    # The first exchange loads what every later one needs.
    await ann.git("clone", "-q", small, cwd=tmp_path)
    with Growth(deployment) as pushing:
        await ann.git(*AS_IT_IS, "push", "-q", url, "main", cwd=work)
    with Growth(deployment) as cloning:
        await ann.git("clone", "-q", "--bare", url, "clone", cwd=tmp_path)
    grown = {
        (act, name): size
        for act, growth in (("push", pushing), ("clone", cloning))
        for name, size in growth.bytes.items()
    }
    mebibytes = {" ".join(one): size // MIB for one, size in grown.items() if size > MIB}
    print(f"{ann.transport}, {LARGE_MIB} MiB:", mebibytes)
    assert {one: size for one, size in grown.items() if size > MAX_GROWTH} == {}
    assert await git("rev-parse", "main", cwd=tmp_path / "clone") == await git("rev-parse", "main", cwd=work)
    shutil.rmtree(tmp_path / "clone")
