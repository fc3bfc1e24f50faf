"""Fetching from a remote that somebody named: what it has, and bringing that over.

Git's connections go through the proxy of the worker, which judges addresses and counts bytes. Redirects are not
followed (`http.followRedirects`): the one host that was named is the one that gets the secrets. What goes wrong comes
out as one of `Reason`; git's own words may hold what a remote wrote and go no further than this module.
"""

import contextlib
import json
import os
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ingot_repos.git import wire
from ingot_repos.git.command import MIB, GitArgs, clean_environment
from ingot_repos.git.errors import GitError, GitFailed, GitTimedOut
from ingot_repos.git.refs import BRANCHES, TAGS, is_object_id, is_valid_ref_name
from ingot_repos.git.streaming import stream_git

Scheme = Literal["http", "https", "git", "ssh", "file"]
Reason = Literal[
    "address",
    "broken",
    "cancelled",
    "failed",
    "format",
    "host-key",
    "idle",
    "no-repository",
    "not-found",
    "redirect",
    "secrets",
    "tls",
    "too-large",
    "too-many-refs",
    "unauthorized",
    "unreachable",
]

MOST_REFS = 100_000
_MOST_LISTED = 64 * MIB
_LONGEST = 24 * 3600.0
_PROGRESS = re.compile(rb"(Receiving|Unpacking|Resolving) (?:objects|deltas): +(\d{1,3})%")
# In this order: the first that is found in git's words decides.
_WORDS: tuple[tuple[Reason, str], ...] = (
    ("redirect", r"returned error: 3\d\d|unable to update url base from redirection"),
    (
        "unauthorized",
        (
            r"returned error: 40[137]|authentication failed|could not read (username|password)|permission denied \("
            r"|access denied"
        ),
    ),
    ("host-key", r"host key verification failed|remote host identification has changed"),
    (
        "no-repository",
        (
            r"not valid: is this a git repo|invalid server response|does not appear to be a git repo"
            r"|protocol error|bad line length|unexpected line|couldn't find remote ref|invalid content-type|bad packet"
        ),
    ),
    ("not-found", r"returned error: 4(04|10)|repository '.*' not found|no such repository|not exported"),
    ("format", r"mismatched algorithms|hash algorithm|object format"),
    # How GnuTLS and OpenSSL call it when a connection ends before it should.
    ("broken", r"recv error|ssl_(read|write)|ssl_error_syscall|non-properly|pull function|unexpected eof"),
    ("tls", r"ssl|certificate|tls"),
    (
        "unreachable",
        (
            r"could not resolve|couldn't connect|failed to connect|connection (refused|timed out|reset|closed)"
            r"|unable to connect|cannot connect|socks5?|empty reply|returned error: 5\d\d|banner exchange"
            r"|recv failure|kex_exchange_identification|could not read from remote"
        ),
    ),
    (
        "broken",
        r"early eof|index-pack failed|unpack-objects|bad (object|pack)|fsck|invalid index-pack|unexpected disconnect|rpc failed|hung up",
    ),
)


class RemoteFailed(GitError):
    """Nothing, or not all, could be brought over, for this reason."""

    def __init__(self, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Remote:
    """Where to fetch from, and how to get there.

    Args:
        url: without secrets; an absolute path for the scheme `file`.
        scheme: the one transport that git may use.
        secrets: user name and password.
        proxy: port, name and password of a ticket of the proxy; None for `file`.
        known_hosts: a file as of sshd(8), or "any".
        authorities: a PEM file of authorities that certificates may come from, beside the machine's own.
    """

    url: str
    scheme: Scheme
    secrets: tuple[str, str] | None = field(default=None, repr=False)
    proxy: tuple[int, str, str] | None = None
    known_hosts: str = ""
    authorities: str = ""


@dataclass(slots=True)
class Activity:
    """What git is at: for people, and for whoever waits for a sign of life (`at`, of `time.monotonic`)."""

    phase: str = "connecting"
    percent: int = 0
    at: float = field(default_factory=time.monotonic)

    def see(self, stderr: bytes) -> None:
        """Take in what git wrote to stderr; what it passes on of the remote's words does not count."""
        for line in re.split(rb"[\r\n]", stderr):
            found = _PROGRESS.match(line)
            if found is None:
                continue
            phase, percent = found[1].decode().lower(), min(int(found[2]), 100)
            if (phase, percent) != (self.phase, self.percent):
                self.phase, self.percent, self.at = phase, percent, time.monotonic()


@dataclass(frozen=True, slots=True)
class Advertised:
    """Branches and tags of a remote, by full name, and the short name of its default branch."""

    refs: dict[str, str]
    head: str | None


async def advertised(remote: Remote, activity: Activity) -> Advertised:
    """What a remote has. Names that cannot be kept are left out. Raises RemoteFailed."""
    args = GitArgs("ls-remote", ("--symref",), (remote.url, "HEAD", f"{BRANCHES}*", f"{TAGS}*"))
    text = await _run(remote, args, activity)
    refs, head = {}, None
    for line in text.split(b"\n"):
        value, _, name = line.partition(b"\t")
        if name == b"HEAD" and value.startswith(b"ref: refs/heads/"):
            head = value.removeprefix(b"ref: refs/heads/").decode("utf-8", "replace")
        elif name.startswith((BRANCHES.encode(), TAGS.encode())) and not name.endswith(b"^{}"):
            refs[name.decode("utf-8", "surrogateescape")] = value.decode("ascii", "replace")
    if len(refs) > MOST_REFS:
        raise RemoteFailed("too-many-refs")
    if not all(is_object_id(value) for value in refs.values()):
        raise RemoteFailed("format" if all(len(value) == 64 for value in refs.values()) else "no-repository")
    kept = {name: refs[name] for name in _keepable(refs)}
    return Advertised(kept, head if head and BRANCHES + head in kept else None)


async def fetch(
    remote: Remote, path: Path, names: Iterable[str], activity: Activity, *, into: str = ""
) -> None:
    """Bring refs of a remote with their objects into the repository at ``path``, wherever these pointed before.

    Args:
        remote: where they are.
        path: the bare repository. Nobody else may fetch into it meanwhile.
        names: full names, such as `advertised` told.
        activity: is kept up to date.
        into: what stands there instead of `refs/`, such as `refs/incoming/`.

    Raises:
        RemoteFailed: some or all are not there.
    """
    wanted = [f"+{name}:{into + name.removeprefix('refs/') if into else name}\n" for name in names]
    if not wanted:
        return
    options = (
        "--stdin",
        "--progress",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--no-show-forced-updates",
    )
    await _run(remote, GitArgs("fetch", options, (remote.url,)), activity, path, "".join(wanted).encode())


def _keepable(names: Iterable[str]) -> list[str]:
    """Those that a repository here may hold together: valid, and none the folder of another."""
    kept: set[str] = set()
    for name in sorted(names):
        above = name.split("/")
        folders = {"/".join(above[:count]) for count in range(3, len(above))}
        if is_valid_ref_name(name.split("/", 2)[2]) and not folders & kept:
            kept.add(name)
    return sorted(kept)


async def _run(
    remote: Remote, args: GitArgs, activity: Activity, path: Path | None = None, stdin: bytes | None = None
) -> bytes:
    """Run git against a remote to its end; its stdout. Killed when cancelled, and with this process."""
    output = bytearray()
    with contextlib.ExitStack() as stack:
        extra = _secrets(remote, stack)
        stream = stream_git(
            args,
            git_dir=path,
            body=None if stdin is None else _once(stdin),
            environment=clean_environment(
                _surroundings(remote) | extra, protocols=(remote.scheme,), config=_configuration(remote)
            ),
            time_limit=_LONGEST,
            watch=activity.see,
            leashed=True,
        )
        try:
            async with contextlib.aclosing(stream):
                async for chunk in stream:
                    output += chunk
                    if len(output) > _MOST_LISTED:
                        raise RemoteFailed("too-many-refs")
        except GitTimedOut:
            raise RemoteFailed("idle") from None
        except GitFailed as error:
            raise RemoteFailed(_reason(error.stderr)) from None
    return bytes(output)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _reason(stderr: str) -> Reason:
    words = stderr.lower()
    return next((reason for reason, pattern in _WORDS if re.search(pattern, words)), "failed")


def _secrets(remote: Remote, stack: contextlib.ExitStack) -> dict[str, str]:
    """Variables by which git and ssh get to user name and password."""
    if remote.secrets is None:
        return {}
    descriptor, path = wire.sealed_off(*remote.secrets)
    stack.callback(os.close, descriptor)
    asking = wire.program("ingot-repos-askpass")
    return {
        "GIT_ASKPASS": asking,
        "SSH_ASKPASS": asking,
        "SSH_ASKPASS_REQUIRE": "force",
        wire.SECRETS: path,
    }


def _surroundings(remote: Remote) -> dict[str, str]:
    # Without a home curl would look for the operator's .netrc in the account's.
    variables = {"HOME": os.devnull}
    if remote.proxy is not None:
        port, ticket, token = remote.proxy
        variables[wire.TUNNEL] = f"{port}:{ticket}:{token}"
    if remote.scheme == "ssh":
        variables |= {
            "GIT_SSH": wire.program("ingot-repos-ssh"),
            "GIT_SSH_VARIANT": "ssh",
            wire.SSH: json.dumps(_ssh_options(remote)),
        }
    return variables


def _configuration(remote: Remote) -> list[tuple[str, str]]:
    settings = []
    if remote.authorities:
        # It takes the place of the machine's own file, but not of the folder that holds the same.
        settings.append(("http.sslCAInfo", remote.authorities))
        if folder := ssl.get_default_verify_paths().capath:
            settings.append(("http.sslCAPath", folder))
    if remote.proxy is not None and remote.scheme in ("http", "https"):
        port, ticket, token = remote.proxy
        settings.append(("http.proxy", f"socks5h://{ticket}:{token}@127.0.0.1:{port}"))
    if remote.scheme == "git":
        settings.append(("core.gitProxy", wire.program("ingot-repos-connect")))
    return settings


def _ssh_options(remote: Remote) -> list[str]:
    """ssh_config(5): the way through the proxy, the host keys of the settings, and nothing of the operator's own."""
    anyone = remote.known_hosts == "any"
    chosen = {
        "ProxyCommand": f"{wire.program('ingot-repos-connect')} %h %p",
        "UserKnownHostsFile": os.devnull if anyone else f'"{remote.known_hosts}"',
        "GlobalKnownHostsFile": os.devnull,
        "StrictHostKeyChecking": "no" if anyone else "yes",
        "IdentityFile": "none",
        "IdentityAgent": "none",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "NumberOfPasswordPrompts": "1",
        "BatchMode": "yes" if remote.secrets is None else "no",
        "LogLevel": "ERROR",
    }
    return ["-F", os.devnull, *(part for name, value in chosen.items() for part in ("-o", f"{name}={value}"))]
