"""A parser for addresses of remotes. It checks only their form."""

import contextlib
import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import msgspec

from ingot_chassis.errors import Invalid
from ingot_git.remote.remote import Scheme

PORTS: dict[str, int] = {"http": 80, "https": 443, "git": 9418, "ssh": 22}
LONGEST = 2000
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?|[0-9a-f:.]+", re.IGNORECASE)
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")
_FORBIDDEN = re.compile(r"[^\x21-\x7e]|\\")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# git(1): host:path means ssh, unless a slash comes before the colon.
_SCP = re.compile(r"(?:([^@/:]+)@)?([^@/:]+|\[[0-9a-fA-F:.]+\]):(?!/)(.+)")


class RemoteUrl(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed address of a remote. ``url`` has no secrets. ``port`` is 0 for a local folder."""

    url: str
    scheme: Scheme
    host: str = ""
    port: int = 0
    username: str = ""
    password: str = ""


def parse_remote_url(
    text: str, *, username: str = "", folders: Sequence[str] = (), ssh: bool = False
) -> RemoteUrl:
    """Parse a URL of http, https, git or ssh, ``user@host:path``, or a folder. Raises Invalid.

    Args:
        text: the input of the user.
        username: replaces the user name in ``text``.
        folders: local folders from which repositories may be imported, with their subfolders.
        ssh: True if remotes of ssh are allowed: host keys are configured or are not checked.
    """
    if not text or len(text) > LONGEST or _FORBIDDEN.search(text) or text.startswith("-"):
        raise _invalid("format", "is not a URL")
    if folders and text.startswith(("/", "file:")):
        return _folder(text, folders)
    scp = None if "://" in text else _SCP.fullmatch(text)
    if scp is not None:
        text = f"ssh://{scp[1] + '@' if scp[1] else ''}{scp[2]}/{scp[3]}"
    try:
        parts = urlsplit(text)
        return _remote(parts, parts.port, username, ssh=ssh)
    except ValueError:
        raise _invalid("format", "is not a URL") from None


def lfs_url(url: str) -> str:
    """Return the default address of the LFS server of a remote; empty for a folder.

    https://github.com/git-lfs/git-lfs/blob/main/docs/api/server-discovery.md
    """
    parts = urlsplit(url)
    if not parts.hostname:
        return ""
    path = parts.path.rstrip("/").removesuffix(".git")
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc}{path}.git/info/lfs"
    return f"https://{f'[{parts.hostname}]' if ':' in parts.hostname else parts.hostname}{path}.git/info/lfs"


def _remote(parts: SplitResult, port: int | None, username: str, *, ssh: bool) -> RemoteUrl:
    host = (parts.hostname or "").lower()
    if parts.scheme not in PORTS or not _HOST.fullmatch(host) or port == 0:
        raise _invalid("scheme", "must be an address of http, https, git or ssh")
    if parts.query or parts.fragment or not parts.path.strip("/") or _CONTROL.search(unquote(parts.path)):
        raise _invalid("format", "names no repository")
    username, password = username or unquote(parts.username or ""), unquote(parts.password or "")
    shown = f"[{host}]" if ":" in host else host
    if port is not None and port != PORTS[parts.scheme]:
        shown += f":{port}"
    if parts.scheme == "ssh":
        if not ssh:
            raise _invalid("scheme", "ssh is not set up on this server: INGOT_REPOS_KNOWN_HOSTS is empty")
        if username and not _USER.fullmatch(username):
            raise _invalid("format", "has no usable user name")
        shown = f"{username or 'git'}@{shown}"
    with contextlib.suppress(ValueError):
        host = str(ipaddress.ip_address(host))
    scheme: Scheme = parts.scheme  # type: ignore[assignment]  # one of PORTS
    return RemoteUrl(
        url=urlunsplit((scheme, shown, parts.path, "", "")),
        scheme=scheme,
        host=host,
        port=port or PORTS[scheme],
        username=username,
        password=password,
    )


def _folder(text: str, folders: Sequence[str]) -> RemoteUrl:
    path = Path(unquote(urlsplit(text).path) if text.startswith("file:") else text)
    allowed = [Path(folder).resolve() for folder in folders]
    if not path.is_absolute() or not any(path.resolve().is_relative_to(folder) for folder in allowed):
        raise _invalid("scheme", "this folder of the server may not be imported from")
    return RemoteUrl(url=str(path.resolve()), scheme="file")


def _invalid(code: str, message: str) -> Invalid:
    return Invalid.field("clone_addr", code, message)
