"""Files of any size pass through a server with constant memory: release files and LFS objects."""

import hashlib
from pathlib import Path

import httpx
import pytest

from ..lone_process import lone_repos as started
from ..world import migrate

MEGABYTES = 40
MOST_GROWTH = 24 * 2**20
PART = bytes(range(256)) * 256
HERE = Path(__file__).parents[1]


class LoneRepos:
    """A server in another process, and what its release takes files with."""

    def __init__(self, process, ready):
        self._status = Path(f"/proc/{process.pid}/status")
        self.assets, self._headers = ready["assets"], ready["headers"]
        self.url = f"http://127.0.0.1:{ready['port']}"

    def peak_memory(self):
        line = next(line for line in self._status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    async def upload(self, megabytes, *, form):
        """The file as the API shows it."""
        name = f"{megabytes}-{form}.bin"
        headers, params = dict(self._headers), {"name": name}
        if form:
            headers["Content-Type"] = "multipart/form-data; boundary=b"
        async with httpx.AsyncClient(base_url=self.url, timeout=120) as client:
            content = parts(megabytes, form=form)
            answer = await client.post(self.assets, params=params, headers=headers, content=content)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def download(self, asset):
        """The checksum of what came."""
        path = httpx.URL(asset["browser_download_url"]).raw_path.decode()
        digest = hashlib.sha256()
        async with (
            httpx.AsyncClient(base_url=self.url, timeout=120) as client,
            client.stream("GET", path, headers=self._headers) as answer,
        ):
            async for chunk in answer.aiter_raw():
                digest.update(chunk)
        return f"sha256:{digest.hexdigest()}"

    async def send_and_get_object(self, megabytes):
        """Store an object of LFS, twice, and get it back; whether all of it came."""
        digest = hashlib.sha256()
        async for part in parts(megabytes, form=False):
            digest.update(part)
        path = f"/ann/app.git/info/lfs/objects/{digest.hexdigest()}"
        async with httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=120) as client:
            for _ in range(2):
                content = parts(megabytes, form=False)
                answer = await client.put(f"{path}/{megabytes * 2**20}", content=content)
                assert answer.status_code == 200, answer.text
            back = hashlib.sha256()
            async with client.stream("GET", path) as stream:
                async for chunk in stream.aiter_raw():
                    back.update(chunk)
        return back.digest() == digest.digest()


async def parts(megabytes, *, form):
    if form:
        yield b'--b\r\nContent-Disposition: form-data; name="attachment"; filename="x"\r\n\r\n'
    for _ in range(megabytes * 16):
        yield PART
    if form:
        yield b"\r\n--b--\r\n"


@pytest.fixture
def settings():
    return {}


@pytest.fixture
async def lone_repos(make_database, tmp_path, settings):
    values = {"database": make_database("repos", migrate), "folder": str(tmp_path), **settings}
    async with started(values) as (process, ready):
        yield LoneRepos(process, ready)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
class TestMemory:
    @pytest.fixture
    def settings(self, objects_at):
        return objects_at

    async def test_a_large_file_does_not_stay_in_memory(self, lone_repos):
        for form in (False, True):
            await lone_repos.download(await lone_repos.upload(12, form=form))
        assert await lone_repos.send_and_get_object(12)
        before = lone_repos.peak_memory()
        for form in (False, True):
            asset = await lone_repos.upload(MEGABYTES, form=form)
            assert asset["size"] == MEGABYTES * 2**20
            assert await lone_repos.download(asset) == asset["digest"]
        assert await lone_repos.send_and_get_object(MEGABYTES)
        assert lone_repos.peak_memory() - before < MOST_GROWTH
