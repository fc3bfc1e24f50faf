"""``ingot export`` and ``ingot import``: archives of repositories, by the API of any Ingot.

The token is sent to the named server only: redirects are not followed.
"""

import asyncio
import hashlib
import http.client
import json
import os
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from ingot_chassis.errors import CannotStart
from ingot_standalone.console import say

POLL_SECONDS = 1.0
TIMEOUT_SECONDS = 3600.0
"""Limit of the silence of the server, which verifies a large archive before it answers."""
BLOCK = 1024 * 1024
UNFINISHED = ".unfinished"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that takes a redirect for an error."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RemoteRepository(NamedTuple):
    """A repository of a server, by the address of its page. An empty ``token`` is not sent."""

    site: str
    owner: str
    name: str
    token: str

    @property
    def path(self) -> str:
        return f"repos/{quote(self.owner, safe='')}/{quote(self.name, safe='')}"

    def call(
        self, method: str, path: str, body: IO[bytes] | None = None, size: int = 0
    ) -> http.client.HTTPResponse:
        """Send a request to the API and return its response. Blocks. Raises CannotStart."""
        headers = {"Authorization": f"token {self.token}"} if self.token else {}
        if body is not None:
            headers |= {"Content-Type": "application/zip", "Content-Length": str(size)}
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked
            f"{self.site}/api/v1/{path}", data=body, headers=headers, method=method
        )
        opener = urllib.request.build_opener(_NoRedirects)
        try:
            response: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            raise CannotStart(f"the server refuses it ({error.code}): {_message(error)}") from None
        except (OSError, http.client.HTTPException) as error:
            raise CannotStart(f"{self.site} does not answer: {error}") from None
        return response

    def get(self, method: str, path: str) -> Any:
        """Return a decoded answer. Blocks. Raises CannotStart."""
        with self.call(method, path) as response:
            text = response.read()
        return json.loads(text) if text else None


def _message(error: urllib.error.HTTPError) -> str:
    """Return the message of an error of the API, in one line without control characters."""
    try:
        answer = json.loads(error.read(BLOCK))
        details = "; ".join(str(one["message"]) for one in answer.get("errors") or [])
        text = " ".join((details or str(answer["message"])).split())
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        text = str(error.reason)
    return "".join(one for one in text if one.isprintable())


def repository_at(url: str, token: str) -> RemoteRepository:
    """Return the repository whose page has this address. Raises CannotStart."""
    parts = urlsplit(url)
    *prefix, owner, name = ["", *parts.path.strip("/").removesuffix(".git").split("/")]
    if (
        parts.scheme not in ("http", "https")
        or not (parts.hostname and owner and name)
        or "@" in parts.netloc
    ):
        raise CannotStart(
            f"{url!r} is not the address of a repository, such as https://git.example.org/ann/demo"
        )
    return RemoteRepository("/".join((f"{parts.scheme}://{parts.netloc}", *prefix[1:])), owner, name, token)


async def export(url: str, target: Path, *, token: str, is_gitea: bool = False) -> None:
    """Export a repository into a new file, or into a new folder with the layout of Gitea.

    A cancelled export is also cancelled at the server.

    Raises CannotStart.
    """
    repository = repository_at(url, token)
    if await asyncio.to_thread(target.exists):
        raise CannotStart(f"{target} exists; name another file")
    path = f"{repository.path}/export"
    state = await asyncio.to_thread(repository.get, "POST", path)
    try:
        while state["status"] == "running":
            await asyncio.sleep(POLL_SECONDS)
            state = await asyncio.to_thread(repository.get, "GET", path)
    except asyncio.CancelledError:
        await asyncio.to_thread(repository.get, "DELETE", path)
        raise
    if state["status"] != "done":
        raise CannotStart(f"the export failed: {state['error']}")
    await asyncio.to_thread(_save, repository, f"{path}/archive", target, is_gitea=is_gitea)
    objects = ", ".join(f"{count} {kind}" for kind, count in state["counts"].items() if count)
    say(f"{target} has {url}{': ' if objects else ''}{objects}")


def _save(repository: RemoteRepository, path: str, target: Path, *, is_gitea: bool) -> None:
    """Download an archive, and write its layout if that is asked for. Blocks. Raises CannotStart."""
    if not is_gitea:
        _download(repository, path, target)
        return
    from ingot_standalone.gitea_layout import write_layout

    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        archive = Path(scratch, "archive.zip")
        _download(repository, path, archive)
        left_out = write_layout(archive, target)
    if left_out:
        numbers = ", ".join(f"#{number}" for number in left_out)
        say(f"patches above 256 MiB are left out, but their commits are here: {numbers}")


def _download(repository: RemoteRepository, path: str, target: Path) -> None:
    """Download a file whose ETag is its SHA-256. Only its owner may read it. Raises CannotStart."""
    unfinished, digest = target.with_name(target.name + UNFINISHED), hashlib.sha256()
    try:
        unfinished.unlink(missing_ok=True)
        with repository.call("GET", path) as response, open(unfinished, "xb", opener=_open_private) as file:
            while block := response.read(BLOCK):
                digest.update(block)
                file.write(block)
            etag = response.headers.get("ETag", "").strip('"')
        if digest.hexdigest() != etag:
            raise CannotStart("the download broke off; try again")
        unfinished.rename(target)
    except (OSError, http.client.HTTPException) as error:
        raise CannotStart(f"the download broke off: {error}; try again") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def import_archive(
    source: Path, url: str, *, token: str, private: bool | None, map_logins: bool
) -> None:
    """Import an archive as a new repository, and wait for the end. Raises CannotStart."""
    repository = repository_at(url, token)
    query: dict[str, str] = {"owner": repository.owner, "name": repository.name}
    if private is not None:
        query["private"] = str(private).lower()
    if map_logins:
        query["map_logins"] = "true"

    def send() -> None:
        try:
            with source.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                path = f"repos/migrate/archive?{urlencode(query)}"
                repository.call("POST", path, file, size).close()
        except FileNotFoundError:
            raise CannotStart(f"{source} does not exist") from None

    await asyncio.to_thread(send)
    state = {"status": "waiting"}
    while state["status"] in ("waiting", "running"):
        await asyncio.sleep(POLL_SECONDS)
        state = await asyncio.to_thread(repository.get, "GET", f"{repository.path}/migration")
    if state["status"] != "done":
        raise CannotStart(f"the import failed: {state['error']}; {url} has what came")
    say(f"{url} is here")
