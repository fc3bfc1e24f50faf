"""``ingot export`` and ``ingot import``: archives of repositories, through the API of any Ingot server.

The token is sent to the named server only: redirects are not followed.
"""

import asyncio
import hashlib
import http.client
import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from ingot_chassis.errors import CannotStart
from ingot_standalone.console import say

POLL_SECONDS = 1.0
TIMEOUT_SECONDS = 3600.0
"""Limit of the silence of the server, which verifies a large archive before it answers."""
BLOCK = 1024 * 1024
PAGE_SIZE = 50
READS = 5
"""Limit of the times that a changing list is read."""
UNFINISHED = ".unfinished"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that treats a redirect as an error."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RemoteServer(NamedTuple):
    """The API of a server. An empty ``token`` is not sent."""

    site: str
    token: str

    def call(
        self, method: str, path: str, body: IO[bytes] | None = None, size: int = 0, fields: Any = None
    ) -> http.client.HTTPResponse:
        """Send a request, and return its response. Blocks.

        The body is a ZIP file of ``size`` bytes, or else ``fields`` as JSON. Raises CannotStart; the subclass
        Refused for a response with an error status.
        """
        headers = {"Authorization": f"token {self.token}"} if self.token else {}
        data: IO[bytes] | bytes | None = body
        if body is not None:
            headers |= {"Content-Type": "application/zip", "Content-Length": str(size)}
        elif fields is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(fields).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked
            f"{self.site}/api/v1/{path}", data=data, headers=headers, method=method
        )
        opener = urllib.request.build_opener(_NoRedirects)
        try:
            response: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _message(error)) from None
        except (OSError, http.client.HTTPException) as error:
            raise CannotStart(f"{self.site} does not answer: {error}") from None
        return response

    def get(self, method: str, path: str, fields: Any = None) -> Any:
        """Send a request, and return the parsed response; None for an empty response.

        Blocks. Raises CannotStart.
        """
        with self.call(method, path, fields=fields) as response:
            text = response.read()
        return json.loads(text) if text else None

    def all(self, path: str) -> list[Any]:
        """Return the objects of all pages of a list. Blocks. Raises CannotStart.

        A list that changes between two pages is read again, up to ``READS`` times in all.
        """
        for _ in range(READS):
            objects, total = self._pages(path)
            if total is None or len(objects) == total:
                return list(objects.values())
        raise CannotStart(f"{self.site} shows only a part of {path}, or it changes at the moment; try again")

    def _pages(self, path: str) -> tuple[dict[Any, Any], int | None]:
        """Return the objects of all pages by their ids, and their total number if the server returns it."""
        objects, number = dict[Any, Any](), 1
        while True:
            with self.call("GET", f"{path}?limit={PAGE_SIZE}&page={number}") as response:
                total = response.headers.get("X-Total-Count")
                page = {one["id"]: one for one in json.loads(response.read())}
            if page.keys() <= objects.keys():  # also from a server that ignores the number of the page
                return objects, int(total) if total is not None else None
            objects |= page
            number += 1


class RemoteRepository(NamedTuple):
    """A repository of a server."""

    server: RemoteServer
    owner: str
    name: str

    @property
    def path(self) -> str:
        return f"repos/{segment(self.owner)}/{segment(self.name)}"

    @property
    def url(self) -> str:
        return f"{self.server.site}/{self.owner}/{self.name}"


class Refused(CannotStart):
    """The server refuses a request with ``status``."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(f"the server refuses it ({status}): {message}")


def segment(text: str) -> str:
    """Quote a text as one segment of a path."""
    return quote(text, safe="")


def _message(error: urllib.error.HTTPError) -> str:
    """Return the message of an error of the API, in one line without control characters."""
    try:
        answer = json.loads(error.read(BLOCK))
        details = "; ".join(str(one["message"]) for one in answer.get("errors") or [])
        text = " ".join((details or str(answer["message"])).split())
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        text = str(error.reason)
    return printable(text)


def printable(text: str) -> str:
    """Return a text of a server without control characters."""
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
    site = "/".join((f"{parts.scheme}://{parts.netloc}", *prefix[1:]))
    return RemoteRepository(RemoteServer(site, token), owner, name)


@contextmanager
def ingot_answers(server: RemoteServer) -> Iterator[None]:
    """Raise CannotStart if a response is not from Ingot, or if the connection ends."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise CannotStart(f"{server.site} gives another answer than Ingot: {error!r}") from None
    except http.client.HTTPException as error:
        raise CannotStart(f"{server.site} ended the connection: {error!r}; try again") from None


async def export(url: str, target: Path, *, token: str, is_gitea: bool = False) -> None:
    """Export a repository into a new file, or into a new folder with the layout of Gitea.

    A cancelled export is also cancelled at the server.

    Raises CannotStart.
    """
    repository = repository_at(url, token)
    if await asyncio.to_thread(target.exists):
        raise CannotStart(f"{target} exists; name another file")
    counts = await write_archive(repository, target, is_gitea=is_gitea)
    objects = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    say(f"{target} has {url}{': ' if objects else ''}{objects}")


async def write_archive(
    repository: RemoteRepository, target: Path, *, is_gitea: bool = False, stays: bool = True
) -> dict[str, int]:
    """Export a repository into a new file or folder, and return the number of objects by kind.

    With ``stays``, the server keeps the archive until it expires. Otherwise the archive is deleted there at
    the end. Raises CannotStart.
    """
    path, server = f"{repository.path}/export", repository.server
    with ingot_answers(server):
        state = await asyncio.to_thread(server.get, "POST", path)
        has_ended = False
        try:
            while state["status"] == "running":
                await asyncio.sleep(POLL_SECONDS)
                state = await asyncio.to_thread(server.get, "GET", path)
            has_ended = True
            if state["status"] != "done":
                raise CannotStart(f"the export of {repository.url} failed: {state['error']}")
            await asyncio.to_thread(_save, repository, f"{path}/archive", target, is_gitea=is_gitea)
            counts: dict[str, int] = state["counts"]
            for file in state.get("left_out_files", []):  # older servers name none
                what = f"#{file['number']}: {file['name']} is left out: {file['reason']}"
                say(f"{repository.url} {printable(what)}")
        except asyncio.CancelledError:
            if stays and not has_ended:
                await asyncio.to_thread(server.get, "DELETE", path)
            raise
        finally:
            if not stays:
                with suppress(CannotStart):  # an error before this one says more
                    await asyncio.to_thread(server.get, "DELETE", path)
    return counts


def _save(repository: RemoteRepository, path: str, target: Path, *, is_gitea: bool) -> None:
    """Download an archive. With ``is_gitea``, write its layout for Gitea instead of the archive.

    Blocks. Raises CannotStart.
    """
    if not is_gitea:
        _download(repository, path, target)
        return
    from ingot_remotes.archives.gitea_layout import LayoutFailed, write_verified_layout

    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        archive = Path(scratch, "archive.zip")
        _download(repository, path, archive)
        room = shutil.disk_usage(scratch).free // 2
        try:
            left_out = write_verified_layout(archive, target, room=room)
        except LayoutFailed as error:
            raise CannotStart(str(error)) from None
        except OSError as error:
            raise CannotStart(f"{target} cannot be written: {error}") from None
    if left_out:
        numbers = ", ".join(f"#{number}" for number in left_out)
        say(
            "patches above 256 MiB, or beyond half of the free disk, are left out,"
            f" but their commits are here: {numbers}"
        )


def _download(repository: RemoteRepository, path: str, target: Path) -> None:
    """Download a file whose ETag is its SHA-256. Only the owner of the file may read it. Blocks.

    Raises CannotStart.
    """
    unfinished, digest = target.with_name(target.name + UNFINISHED), hashlib.sha256()
    try:
        unfinished.unlink(missing_ok=True)
        with (
            repository.server.call("GET", path) as response,
            open(unfinished, "xb", opener=open_private) as file,
        ):
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


def open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def import_archive(
    source: Path, url: str, *, token: str, private: bool | None, map_logins: bool
) -> None:
    """Import an archive as a new repository, and wait for the end. Raises CannotStart.

    A ``private`` of None keeps the visibility in the archive.
    """
    await read_archive(repository_at(url, token), source, private=private, map_logins=map_logins)
    say(f"{url} is here")


async def read_archive(
    repository: RemoteRepository, source: Path, *, private: bool | None, map_logins: bool
) -> None:
    """Import an archive as a new repository, and wait for the end. Raises CannotStart.

    A ``private`` of None keeps the visibility in the archive.
    """
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
                repository.server.call("POST", path, file, size).close()
        except FileNotFoundError:
            raise CannotStart(f"{source} does not exist") from None
        except OSError as error:
            raise CannotStart(f"{source} cannot be read: {error}") from None

    with ingot_answers(repository.server):
        await asyncio.to_thread(send)
        state = {"status": "waiting"}
        while state["status"] in ("waiting", "running"):
            await asyncio.sleep(POLL_SECONDS)
            state = await asyncio.to_thread(repository.server.get, "GET", f"{repository.path}/migration")
        if state["status"] != "done":
            raise CannotStart(f"the import failed: {state['error']}; {repository.url} has what came")
