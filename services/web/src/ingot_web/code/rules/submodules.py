"""Pages of submodules, on this site or another site. Submodules with unsafe URLs have no page."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443, "ssh": 22}
_SHORT_SSH = re.compile(r"(?:[^@/:]+@)?(\[[^\]/]+\]|[^:/\[\]]+):(?!//)(.*)")
"""The form ``git@host:path``."""
_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+")
_REPOSITORY = re.compile(r"/+(?!\.+/)([\w.-]+)/(?!\.+/*$)([\w.-]+?)(?:\.git)?/*", re.ASCII)
_LONGEST = 2_000
"""Maximum characters of a parsed URL. It comes from a pushed file."""
_SAFE = "/%:@!$&'()*+,;=~"
"""Characters of paths and queries that are not quoted."""


class SubmodulePage(NamedTuple):
    """The page of a submodule.

    ``is_here``: the page is on this site, and shows the commit of the submodule.
    """

    href: str
    is_here: bool


def page_of(
    address: str, commit: str, repository: Mapping[str, Any], public_url: str
) -> SubmodulePage | None:
    """Return the page of the submodule of ``repository`` with the URL ``address``.

    None if no URL is safe to follow.
    """
    if len(address) > _LONGEST:
        return None
    own = urlsplit(public_url)
    try:
        parts = _split(_absolute(address.strip(), repository["clone_url"]))
        root = own.path.rstrip("/") if parts.scheme != "ssh" else ""
        is_here = parts.path.startswith(f"{root}/") and _server(parts) in _own_servers(own, repository)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if is_here and (match := _REPOSITORY.fullmatch(parts.path[len(root) :])):
        return SubmodulePage(
            f"{own.path.rstrip('/')}/{match[1]}/{match[2]}/src/commit/{commit}", is_here=True
        )
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        return None
    # Without a name and a password, which would say that it leads to another host than it does.
    server = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    href = urlunsplit((parts.scheme, server, quote(parts.path, _SAFE), quote(parts.query, _SAFE), ""))
    return SubmodulePage(href, is_here=False)


def _absolute(address: str, base: str) -> str:
    """Return the absolute URL of a submodule. A URL that begins with dots is relative to the repository.

    Raises ValueError for too many dots.
    """
    if not address.startswith(("./", "../")):
        return address
    base = base.rstrip("/")
    while address.startswith(("./", "../")):
        step, _, address = address.partition("/")
        if step == "..":
            base = base.rpartition("/")[0]
    if not urlsplit(base).netloc:
        raise ValueError("leads out of the site")
    return f"{base}/{address}"


def _split(address: str) -> SplitResult:
    """Split a URL into its parts. Raises ValueError."""
    if "://" not in address and (match := _SHORT_SSH.fullmatch(address)):
        address = f"ssh://{match[1]}/{match[2].lstrip('/')}"
    return urlsplit(address)


def _server(parts: SplitResult) -> tuple[str, str, int]:
    """Return protocol, host and port; 0 is the default port. Raises ValueError."""
    protocol = "http" if parts.scheme == "https" else parts.scheme
    port = parts.port or 0
    return protocol, parts.hostname or "", 0 if port == _PORTS.get(parts.scheme) else port


def _own_servers(own: SplitResult, repository: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return the servers of this site. SSH is included only if it is enabled."""
    ssh = repository["ssh_url"]
    return [_server(own), *([_server(_split(ssh))] if ssh else [])]
