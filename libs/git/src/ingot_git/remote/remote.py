"""Lists, fetches and pushes refs of remotes that users named.

git connects through the worker's proxy, which checks addresses and counts bytes. Redirects are not followed
(`http.followRedirects`): only the named host gets the secrets. Every failure has a `Reason`. Messages of git
may quote the remote, so they do not leave this module.
"""

import asyncio
import contextlib
import json
import os
import re
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ingot_git.process.command import MIB, GitArgs, clean_environment, git_async
from ingot_git.process.configuration import UNFLUSHED_REFS
from ingot_git.process.disk import flush
from ingot_git.process.errors import GitError, GitFailed, GitTimedOut, StorageFull
from ingot_git.process.streaming import once, stream_git
from ingot_git.refs.pull_heads import PULLS
from ingot_git.refs.refs import BRANCHES, TAGS, ends_like_an_id, is_object_id, is_valid_ref_name
from ingot_git.remote import helper_programs

Scheme = Literal["http", "https", "git", "ssh", "file"]
Reason = Literal[
    "access",
    "address",
    "archive",
    "archived",
    "broken",
    "busy",
    "cancelled",
    "dumb-http",
    "failed",
    "forge-answer",
    "format",
    "host-key",
    "idle",
    "lfs-address",
    "lfs-failed",
    "lfs-missing",
    "lfs-off",
    "lfs-room",
    "lfs-too-large",
    "lfs-unauthorized",
    "lfs-unreachable",
    "no-repository",
    "not-found",
    "redirect",
    "refused",
    "rejected",
    "room",
    "secrets",
    "tls",
    "too-large",
    "too-many",
    "too-many-refs",
    "unauthorized",
    "unreachable",
    "unsafe",
]

INCOMING = "refs/incoming/"
"""Refs fetched by a mirror, before they move to their final names."""
MAX_REFS = 100_000
_MAX_OUTPUT = 64 * MIB
_WHOLE_HISTORY = "--depth=2147483647"
"""Like ``--unshallow`` (git-fetch(1)), which git rejects for servers that only offer files (dumb HTTP).

git has no other option against such servers. It does not check objects from their files, even with
``fetch.fsckObjects``.
"""
_TIME_LIMIT = 24 * 3600.0
_NUMBER = re.compile("[1-9][0-9]{0,9}", re.ASCII)
_PROGRESS = re.compile(rb"(Receiving|Unpacking|Resolving) (?:objects|deltas): +(\d{1,3})%")
# The first pattern in this order that matches git's message decides.
_MESSAGES: tuple[tuple[Reason, str], ...] = (
    ("rejected", r"! \[(remote )?rejected\]"),
    ("unsafe", r"fsck error"),
    ("dumb-http", r"dumb http transport does not support"),
    ("redirect", r"returned error: 3\d\d|unable to update url base from redirection"),
    (
        "unauthorized",
        (
            r"returned error: 40[137]|authentication failed|could not read (username|password)"
            r"|permission denied \(|access denied"
        ),
    ),
    ("host-key", r"host key verification failed|remote host identification has changed"),
    (
        "no-repository",
        (
            r"not valid: is this a git repo|invalid server response|does not appear to be a git repo"
            r"|protocol error|bad line length|unexpected line|couldn't find remote ref"
            r"|invalid content-type|bad packet"
        ),
    ),
    ("not-found", r"returned error: 4(04|10)|repository '.*' not found|no such repository|not exported"),
    ("format", r"mismatched algorithms|hash algorithm|object format"),
    # Messages of GnuTLS and OpenSSL when a connection ends too early.
    ("broken", r"recv error|ssl_(read|write)|ssl_error_syscall|non-properly|pull function|unexpected eof"),
    ("tls", r"ssl|certificate|tls"),
    (
        "unreachable",
        (
            r"could not resolve|couldn't connect|failed to connect"
            r"|connection (refused|timed out|reset|closed)|unable to connect|cannot connect|socks5?"
            r"|empty reply|returned error: 5\d\d|banner exchange"
            r"|recv failure|kex_exchange_identification|could not read from remote"
        ),
    ),
    (
        "broken",
        (
            r"early eof|index-pack failed|unpack-objects|bad (object|pack)|invalid index-pack"
            r"|unexpected disconnect|rpc failed|hung up"
        ),
    ),
)


class RemoteFailed(GitError):
    """Some refs could not be fetched, for this reason."""

    def __init__(self, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Remote:
    """The address of a remote, and how to connect to it.

    Args:
        url: without secrets; an absolute path for the scheme `file`.
        scheme: the only transport that git may use.
        secrets: user name and password.
        proxy: port, name and password of a proxy ticket; None for `file`.
        host_keys: a known_hosts file (sshd(8)), or "any".
        authorities: a PEM file of certificate authorities, trusted in addition to the machine's own.
    """

    url: str
    scheme: Scheme
    secrets: tuple[str, str] | None = field(default=None, repr=False)
    proxy: tuple[int, str, str] | None = None
    host_keys: str = ""
    authorities: str = ""


@dataclass(slots=True)
class FetchProgress:
    """The progress of a fetch. `at` is the time of its last change by `time.monotonic`, in seconds.

    `received` counts bytes of LFS objects. The proxy counts bytes of git.
    """

    phase: str = "connecting"
    percent: int = 0
    received: int = 0
    at: float = field(default_factory=time.monotonic)

    def read_stderr(self, stderr: bytes) -> None:
        """Parse git's own progress lines. Ignore lines that git forwards from the remote."""
        for line in re.split(rb"[\r\n]", stderr):
            match = _PROGRESS.match(line)
            if match is None:
                continue
            phase, percent = match[1].decode().lower(), min(int(match[2]), 100)
            if (phase, percent) != (self.phase, self.percent):
                self.phase, self.percent, self.at = phase, percent, time.monotonic()


@dataclass(frozen=True, slots=True)
class RemoteRefs:
    """Refs of a remote: branches, tags and heads of pull requests by full name.

    ``head`` is the short name of the default branch; None if it is unknown or not in ``refs``.
    """

    refs: dict[str, str]
    head: str | None


@dataclass(frozen=True, slots=True)
class PullHeads:
    """The heads of pull requests of a remote. ``folder`` is the folder of their refs at the remote.

    In this repository the numbers of pull requests are higher by ``offset``.
    """

    folder: str = PULLS
    offset: int = 0

    def number_of(self, name: str) -> int | None:
        """Return the number of the pull request with the head ``name``; None for other names."""
        number = name.removeprefix(self.folder).removesuffix("/head")
        return int(number) if name == f"{self.folder}{number}/head" and _NUMBER.fullmatch(number) else None

    def local_name(self, name: str) -> str:
        """Return the name of a remote ref in this repository. Only heads of pull requests are renamed."""
        number = self.number_of(name)
        return name if number is None else f"{PULLS}{number + self.offset}/head"


async def list_remote_refs(
    remote: Remote, progress: FetchProgress, *, pulls: PullHeads | None = None
) -> RemoteRefs:
    """Return the refs of a remote, without names that are invalid here. Raises RemoteFailed.

    With ``pulls``, the heads of its pull requests are included.
    """
    patterns = (f"{BRANCHES}*", f"{TAGS}*", *((f"{pulls.folder}*/head",) if pulls is not None else ()))
    args = GitArgs("ls-remote", ("--symref",), (remote.url, "HEAD", *patterns))
    text = await _run(remote, args, progress)
    refs, head = {}, None
    for line in text.split(b"\n"):
        value, _, name = line.partition(b"\t")
        if name == b"HEAD" and value.startswith(b"ref: refs/heads/"):
            head = value.removeprefix(b"ref: refs/heads/").decode("utf-8", "replace")
        elif name.startswith((BRANCHES.encode(), TAGS.encode())) and not name.endswith(b"^{}"):
            refs[name.decode("utf-8", "surrogateescape")] = value.decode("ascii", "replace")
        elif pulls is not None and pulls.number_of(name.decode("ascii", "replace")) is not None:
            refs[name.decode("ascii")] = value.decode("ascii", "replace")
    if len(refs) > MAX_REFS:
        raise RemoteFailed("too-many-refs")
    if not all(is_object_id(value) for value in refs.values()):
        raise RemoteFailed("format" if all(len(value) == 64 for value in refs.values()) else "no-repository")
    refs = {name: refs[name] for name in _storable(refs)}
    return RemoteRefs(refs, head if head and BRANCHES + head in refs else None)


async def fetch(
    remote: Remote,
    path: Path,
    names: Iterable[str] | Mapping[str, str],
    progress: FetchProgress,
    *,
    into: str = "",
) -> None:
    """Fetch refs of a remote with their objects into the repository at ``path``. Old values are overwritten.

    Args:
        remote: the remote with the refs.
        path: the bare repository. No other fetch into it may run.
        names: full names, as from `list_remote_refs`. A mapping has the local name of each.
        progress: updated during the fetch.
        into: replaces `refs/` in the local names, for example `refs/incoming/`.

    Raises:
        RemoteFailed: some or all of the refs were not fetched.
    """
    local_names = names if isinstance(names, Mapping) else {name: name for name in names}
    targets = {
        name: into + local.removeprefix("refs/") if into else local for name, local in local_names.items()
    }
    refspecs = [f"+{name}:{target}\n" for name, target in targets.items()]
    if not refspecs:
        return
    options = (
        *((_WHOLE_HISTORY,) if remote.scheme in ("http", "https") else ()),
        "--stdin",
        "--progress",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--no-show-forced-updates",
    )
    await _run(remote, GitArgs("fetch", options, (remote.url,)), progress, path, "".join(refspecs).encode())
    shallow = path / "shallow"
    if shallow.exists():  # the remote's own history is incomplete
        deletions = "".join(f"delete {target}\n" for target in targets.values()).encode()
        await git_async(GitArgs("update-ref", ("--stdin",)), git_dir=path, stdin=deletions)
        shallow.unlink(missing_ok=True)
        raise RemoteFailed("rejected")
    await asyncio.to_thread(flush, path)


async def push(remote: Remote, path: Path, progress: FetchProgress) -> None:
    """Push all branches and tags of the repository at ``path`` to a remote. Raises RemoteFailed.

    Other branches and tags of the remote are deleted.
    """
    refspecs = tuple(f"+{prefix}*:{prefix}*" for prefix in (BRANCHES, TAGS))
    options = ("--prune", "--progress", "--no-verify", "--no-recurse-submodules")
    await _run(remote, GitArgs("push", options, (remote.url, *refspecs)), progress, path)


def _storable(names: Iterable[str]) -> list[str]:
    """Return the names that can exist together here: valid names, of which none is a folder of another."""
    storable: set[str] = set()
    for name in sorted(names):
        segments = name.split("/")
        folders = {"/".join(segments[:count]) for count in range(3, len(segments))}
        incoming = INCOMING + name.removeprefix("refs/")  # longer than the name itself
        is_valid = is_valid_ref_name(name.split("/", 2)[2]) and is_valid_ref_name(incoming)
        if is_valid and not ends_like_an_id(name) and not folders & storable:
            storable.add(name)
    return sorted(storable)


async def _run(
    remote: Remote,
    args: GitArgs,
    progress: FetchProgress,
    path: Path | None = None,
    stdin: bytes | None = None,
) -> bytes:
    """Run git against a remote and return its stdout. Cancellation and the end of this process kill git."""
    output = bytearray()
    with contextlib.ExitStack() as stack:
        secrets = _secret_variables(remote, stack)
        stream = stream_git(
            args,
            git_dir=path,
            body=None if stdin is None else once(stdin),
            environment=clean_environment(
                _variables(remote) | secrets, protocols=(remote.scheme,), config=_configuration(remote)
            ),
            time_limit=_TIME_LIMIT,
            watch=progress.read_stderr,
            # Without a repository git only reads, and its connection ends with the proxy of this process.
            ends_with_parent=path is not None,
        )
        try:
            async with contextlib.aclosing(stream):
                async for chunk in stream:
                    output += chunk
                    if len(output) > _MAX_OUTPUT:
                        raise RemoteFailed("too-many-refs")
        except GitTimedOut:
            raise RemoteFailed("idle") from None
        except StorageFull:
            # Over SSH git prints messages of the other side like its own.
            raise RemoteFailed("broken" if remote.scheme == "ssh" else "room") from None
        except GitFailed as error:
            raise RemoteFailed(_reason(error.stderr)) from None
    return bytes(output)


def _reason(stderr: str) -> Reason:
    message = stderr.lower()
    return next((reason for reason, pattern in _MESSAGES if re.search(pattern, message)), "failed")


def _secret_variables(remote: Remote, stack: contextlib.ExitStack) -> dict[str, str]:
    """Return environment variables that give git and ssh access to user name and password."""
    if remote.secrets is None:
        return {}
    descriptor, path = helper_programs.secrets_file(*remote.secrets)
    stack.callback(os.close, descriptor)
    askpass = helper_programs.program_path("ingot-git-askpass")
    return {
        "GIT_ASKPASS": askpass,
        "SSH_ASKPASS": askpass,
        "SSH_ASKPASS_REQUIRE": "force",
        helper_programs.SECRETS: path,
    }


def _variables(remote: Remote) -> dict[str, str]:
    """Return environment variables for git and its helper programs."""
    # With the account's own home curl would read the operator's .netrc.
    variables = {"HOME": os.devnull}
    if remote.proxy is not None:
        port, ticket, token = remote.proxy
        variables[helper_programs.TUNNEL] = f"{port}:{ticket}:{token}"
    if remote.scheme == "ssh":
        variables |= {
            "GIT_SSH": helper_programs.program_path("ingot-git-ssh"),
            "GIT_SSH_VARIANT": "ssh",
            helper_programs.SSH: json.dumps(_ssh_options(remote)),
        }
    return variables


def _configuration(remote: Remote) -> list[tuple[str, str]]:
    settings = list(UNFLUSHED_REFS)
    if remote.authorities:
        # This replaces the machine's own file, but not the folder with the same authorities.
        settings.append(("http.sslCAInfo", remote.authorities))
        if folder := ssl.get_default_verify_paths().capath:
            settings.append(("http.sslCAPath", folder))
    if remote.proxy is not None and remote.scheme in ("http", "https"):
        port, ticket, token = remote.proxy
        settings.append(("http.proxy", f"socks5h://{ticket}:{token}@127.0.0.1:{port}"))
    if remote.scheme == "git":
        settings.append(("core.gitProxy", helper_programs.program_path("ingot-git-connect")))
    return settings


def _ssh_options(remote: Remote) -> list[str]:
    """Return ssh options (ssh_config(5)): the proxy, known hosts, and no operator configuration."""
    any_host = remote.host_keys == "any"
    options = {
        "ProxyCommand": f"{helper_programs.program_path('ingot-git-connect')} %h %p",
        "UserKnownHostsFile": os.devnull if any_host else f'"{remote.host_keys}"',
        "GlobalKnownHostsFile": os.devnull,
        "StrictHostKeyChecking": "no" if any_host else "yes",
        "IdentityFile": "none",
        "IdentityAgent": "none",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "NumberOfPasswordPrompts": "1",
        "BatchMode": "yes" if remote.secrets is None else "no",
        "LogLevel": "ERROR",
    }
    return [
        "-F",
        os.devnull,
        *(part for name, value in options.items() for part in ("-o", f"{name}={value}")),
    ]
