"""The drill of kubernetes.md on a cluster of processes: a backup during writes, and its restoration.

Databases are dumped by the scripts of the CronJobs. Everything else is lost: databases, files, streams.
"""

import asyncio
import itertools
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx

from ..deploy.backup_scripts import BackupScripts
from .deployments import ADMINISTRATOR, CHEAP_PASSWORDS, Cluster, running
from .history import commit_file, git

PATIENCE = 150.0
PAUSE = 0.2
NAME = "app"
QUIET = "quiet"
"""A repository without writes, while the other one is packed again."""
USER, PASSWORD = ADMINISTRATOR


class Writer:
    """A loop that pushes a commit, opens an issue and adds a release file. ``commits[n]`` is from turn n."""

    def __init__(self, client: httpx.AsyncClient, remote: str, work: Path) -> None:
        self._client, self._remote, self._work = client, remote, work
        self._release = ""
        self._turned = asyncio.Condition()
        self.commits: list[str] = []
        self.is_ending = False

    async def prepare(self) -> None:
        await self._post("user/repos", name=QUIET, auto_init=True)
        await self._post("user/repos", name=NAME)
        self._work.mkdir()
        await git("init", "-q", "-b", "main", cwd=self._work)
        await self._push("begin")
        release = await self._post(f"repos/{USER}/{NAME}/releases", tag_name="v1", target_commitish="main")
        self._release = f"repos/{USER}/{NAME}/releases/{release['id']}/assets"

    async def write(self) -> None:
        turn = len(self.commits)
        commit = await self._push(str(turn))
        await self._post(f"repos/{USER}/{NAME}/issues", title=str(turn))
        path = f"{self._release}?name={turn}"
        answer = await self._client.post(path, content=str(turn).encode(), auth=ADMINISTRATOR)
        assert answer.status_code == 201, answer.text
        async with self._turned:
            self.commits.append(commit)
            self._turned.notify_all()

    async def run(self) -> None:
        while not self.is_ending:
            await self.write()

    async def after_turns(self, count: int) -> None:
        """Wait until so many more were acknowledged."""
        turn = len(self.commits) + count
        async with asyncio.timeout(PATIENCE), self._turned:
            await self._turned.wait_for(lambda: len(self.commits) >= turn)

    async def files(self) -> dict[str, bytes | int]:
        """Every file of the release that is listed; the status of the answer where that is none."""
        files = {}
        for one in await self._list(self._release):
            answer = await self._client.get(one["browser_download_url"], auth=ADMINISTRATOR)
            files[one["name"]] = answer.content if answer.is_success else answer.status_code
        return files

    async def issues(self) -> set[str]:
        return {one["title"] for one in await self._list(f"repos/{USER}/{NAME}/issues")}

    async def tip(self) -> str:
        """Of the branch, as it was announced."""
        answer = await self._client.get(f"repos/{USER}/{NAME}/branches/main", auth=ADMINISTRATOR)
        return str(answer.json()["commit"]["id"])

    async def _push(self, content: str) -> str:
        commit = await commit_file(self._work, "count", content.encode(), content)
        await git("push", "-q", self._remote, "main", cwd=self._work)
        return commit

    async def _list(self, path: str) -> list[dict]:
        rows: list[dict] = []
        for page in itertools.count(1):
            answer = await self._client.get(f"{path}?limit=50&page={page}", auth=ADMINISTRATOR)
            if not answer.json():
                break
            rows += answer.json()
        return rows

    async def _post(self, path: str, **body: str | bool) -> dict:
        answer = await self._client.post(path, json=body, auth=ADMINISTRATOR)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())


def back_up_files(cluster: Cluster, scripts: BackupScripts, pod: str) -> Path:
    folder = scripts.backups / f".databases-{pod}"
    (repos,) = cluster.replicas("repos")
    return Path(repos.output_of("backup", "--to", str(scripts.backups), "--databases", str(folder)).strip())


def examine(cluster: Cluster, *options: str) -> tuple[int, str]:
    """The exit code of the doctor of repos, and what it said."""
    (repos,) = cluster.replicas("repos")
    try:
        return 0, repos.output_of("doctor", *options)
    except subprocess.CalledProcessError as failed:
        return failed.returncode, str(failed.output)


def _files(backup: Path) -> set[int]:
    """The numbers of the files that have objects of git."""
    return {file.stat().st_ino for file in backup.rglob("objects/*/*")}


async def lose_everything(cluster: Cluster, administrator: str) -> None:
    """But backups and keys; then there are empty databases, and a NATS that knows of no stream."""
    servers = cluster.backing_servers
    server = await asyncpg.connect(administrator, ssl=False)
    try:
        for url in servers.database_urls.values():
            name = urlsplit(url).path[1:]
            await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
            await server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    finally:
        await server.close()
    assert servers.nats is not None
    servers.nats.stop()
    for folder in (servers.nats.folder / "jetstream", cluster.folder / "shard-0"):
        shutil.rmtree(folder)
    servers.nats.start()


async def test_what_was_acknowledged_before_a_backup_is_restored(backing_servers, session_servers, tmp_path):
    servers = backing_servers()
    scripts = BackupScripts(tmp_path, servers.database_urls)
    cluster = Cluster(tmp_path, servers, CHEAP_PASSWORDS)
    remote = cluster.url.replace("://", f"://{USER}:{PASSWORD.replace(' ', '%20')}@") + f"{USER}/{NAME}.git"

    async with httpx.AsyncClient(base_url=f"{cluster.url}api/v1/", timeout=60) as client:
        writer = Writer(client, remote, tmp_path / "work")
        with running(cluster):
            await writer.prepare()
            await writer.write()
            done = await asyncio.to_thread(scripts.run, "backup", POD="one")
            assert done.returncode == 0, done.stderr
            first = await asyncio.to_thread(back_up_files, cluster, scripts, "one")

            async with asyncio.TaskGroup() as group:
                group.create_task(writer.run())
                await writer.after_turns(1)
                before = len(writer.commits)
                done = await asyncio.to_thread(scripts.run, "backup", POD="two")
                assert done.returncode == 0, done.stderr
                await writer.after_turns(2)  # the last one began after the databases were dumped
                copied = len(writer.commits)
                second = await asyncio.to_thread(back_up_files, cluster, scripts, "two")
                writer.is_ending = True
            assert _files(first) & _files(second), "what has not changed is stored once"

        await lose_everything(cluster, session_servers.postgres())
        done = await asyncio.to_thread(scripts.run, "restore-databases", BACKUP=second.name)
        assert done.returncode == 0, done.stderr
        (repos,) = cluster.replicas("repos")
        await asyncio.to_thread(repos.output_of, "restore", "--from", str(second))

        with running(cluster):
            await asyncio.to_thread(examine, cluster, "--repair")
            await git("clone", "-q", remote, "restored", cwd=tmp_path)
            await git("fsck", "--full", "--strict", cwd=tmp_path / "restored")
            commits = (await git("log", "--reverse", "--format=%H", cwd=tmp_path / "restored")).split()[1:]
            assert commits[:copied] == writer.commits[:copied], "git is copied after the databases"
            async with asyncio.timeout(PATIENCE):
                while await writer.tip() != commits[-1]:
                    await asyncio.sleep(PAUSE)
                while (said := await asyncio.to_thread(examine, cluster)) != (0, "repos: nothing is wrong\n"):
                    print(said)

            expected, issues = {str(turn) for turn in range(before)}, await writer.issues()
            assert expected <= issues <= {str(turn) for turn in range(len(writer.commits))}
            files = await writer.files()
            assert expected <= files.keys()
            assert files == {name: name.encode() for name in files}, "what a row names was copied after it"

            await git("reset", "-q", "--hard", commits[-1], cwd=tmp_path / "work")
            await writer.write()
            assert await writer.tip() == writer.commits[-1]
