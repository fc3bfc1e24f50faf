"""Lists and fetches the refs of a remote that a user named, and pushes to one.

git's connections go through the proxy of the worker, which checks addresses and counts bytes. Redirects are not
followed (`http.followRedirects`): only the named host gets the secrets. Every failure is one of `Reason`. git's own
messages may quote the remote, so they do not leave this module.
"""

import asyncio
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

from ingot_repos.git import helper_programs
from ingot_repos.git.command import MIB, GitArgs, clean_environment
from ingot_repos.git.configuration import UNFLUSHED_REFS
from ingot_repos.git.disk import flush
from ingot_repos.git.errors import GitError, GitFailed, GitTimedOut, StorageFull
from ingot_repos.git.refs import BRANCHES, TAGS, is_object_id, is_valid_ref_name
from ingot_repos.git.streaming import stream_git

Scheme = Literal["http", "https", "git", "ssh", "file"]
Reason = Literal[
    "access",
    "address",
    "broken",
    "cancelled",
    "failed",
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
    "rejected",
    "room",
    "secrets",
    "tls",
    "too-large",
    "too-many-refs",
    "unauthorized",
    "unreachable",
]

INCOMING = "refs/incoming/"
"""What a mirror has fetched is here until its refs move to their places."""
MAX_REFS = 100_000
_MAX_OUTPUT = 64 * MIB
_TIME_LIMIT = 24 * 3600.0
_PROGRESS = re.compile(rb"(Receiving|Unpacking|Resolving) (?:objects|deltas): +(\d{1,3})%")
# The first pattern in this order that matches git's message decides.
_MESSAGES: tuple[tuple[Reason, str], ...] = (
    ("rejected", r"! \[(remote )?rejected\]"),
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
    # Messages of GnuTLS and OpenSSL when a connection ends too early.
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
    """The refs could not all be fetched, for this reason."""

    def __init__(self, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Remote:
    """The address of a remote, and how to connect to it.

    Args:
        url: without secrets; an absolute path for the scheme `file`.
        scheme: the one transport that git may use.
        secrets: user name and password.
        proxy: port, and name and password of a ticket of the proxy; None for `file`.
        host_keys: a known_hosts file (sshd(8)), or "any".
        authorities: a PEM file of certificate authorities that are trusted beside the machine's own.
    """

    url: str
    scheme: Scheme
    secrets: tuple[str, str] | None = field(default=None, repr=False)
    proxy: tuple[int, str, str] | None = None
    host_keys: str = ""
    authorities: str = ""


@dataclass(slots=True)
class FetchProgress:
    """The progress of a fetch; `at` is the time of its last change by `time.monotonic`.

    `received` counts the bytes of objects of LFS; those of git are counted by the proxy.
    """

    phase: str = "connecting"
    percent: int = 0
    received: int = 0
    at: float = field(default_factory=time.monotonic)

    def read_stderr(self, stderr: bytes) -> None:
        """Read git's own progress lines; lines that git passes on from the remote are ignored."""
        for line in re.split(rb"[\r\n]", stderr):
            match = _PROGRESS.match(line)
            if match is None:
                continue
            phase, percent = match[1].decode().lower(), min(int(match[2]), 100)
            if (phase, percent) != (self.phase, self.percent):
                self.phase, self.percent, self.at = phase, percent, time.monotonic()


@dataclass(frozen=True, slots=True)
class RemoteRefs:
    """Branches and tags of a remote, by full name, and the short name of its default branch."""

    refs: dict[str, str]
    head: str | None


async def list_remote_refs(remote: Remote, progress: FetchProgress) -> RemoteRefs:
    """The refs of a remote, without names that a repository here cannot have. Raises RemoteFailed."""
    args = GitArgs("ls-remote", ("--symref",), (remote.url, "HEAD", f"{BRANCHES}*", f"{TAGS}*"))
    text = await _run(remote, args, progress)
    refs, head = {}, None
    for line in text.split(b"\n"):
        value, _, name = line.partition(b"\t")
        if name == b"HEAD" and value.startswith(b"ref: refs/heads/"):
            head = value.removeprefix(b"ref: refs/heads/").decode("utf-8", "replace")
        elif name.startswith((BRANCHES.encode(), TAGS.encode())) and not name.endswith(b"^{}"):
            refs[name.decode("utf-8", "surrogateescape")] = value.decode("ascii", "replace")
    if len(refs) > MAX_REFS:
        raise RemoteFailed("too-many-refs")
    if not all(is_object_id(value) for value in refs.values()):
        raise RemoteFailed("format" if all(len(value) == 64 for value in refs.values()) else "no-repository")
    refs = {name: refs[name] for name in _storable(refs)}
    return RemoteRefs(refs, head if head and BRANCHES + head in refs else None)


async def fetch(
    remote: Remote, path: Path, names: Iterable[str], progress: FetchProgress, *, into: str = ""
) -> None:
    """Fetch refs of a remote with their objects into the repository at ``path``; their old values there are replaced.

    Args:
        remote: has the refs.
        path: the bare repository. Nobody else may fetch into it meanwhile.
        names: full names, as from `list_remote_refs`.
        progress: is updated.
        into: replaces `refs/` in the names here, such as `refs/incoming/`.

    Raises:
        RemoteFailed: some or all of them were not fetched.
    """
    refspecs = [f"+{name}:{into + name.removeprefix('refs/') if into else name}\n" for name in names]
    if not refspecs:
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
    await _run(remote, GitArgs("fetch", options, (remote.url,)), progress, path, "".join(refspecs).encode())
    await asyncio.to_thread(flush, path)


async def push(remote: Remote, path: Path, progress: FetchProgress) -> None:
    """Make branches and tags of a remote those of the repository at ``path``. Raises RemoteFailed."""
    refspecs = tuple(f"+{prefix}*:{prefix}*" for prefix in (BRANCHES, TAGS))
    options = ("--prune", "--progress", "--no-verify", "--no-recurse-submodules")
    await _run(remote, GitArgs("push", options, (remote.url, *refspecs)), progress, path)


def _storable(names: Iterable[str]) -> list[str]:
    """The names that a repository here may have together: valid, and no name is the folder of another."""
    storable: set[str] = set()
    for name in sorted(names):
        segments = name.split("/")
        folders = {"/".join(segments[:count]) for count in range(3, len(segments))}
        incoming = INCOMING + name.removeprefix("refs/")  # longer than the name itself
        is_valid = is_valid_ref_name(name.split("/", 2)[2]) and is_valid_ref_name(incoming)
        if is_valid and not folders & storable:
            storable.add(name)
    return sorted(storable)


async def _run(
    remote: Remote,
    args: GitArgs,
    progress: FetchProgress,
    path: Path | None = None,
    stdin: bytes | None = None,
) -> bytes:
    """Run git against a remote and return its stdout. git is killed on cancellation, and if this process dies."""
    output = bytearray()
    with contextlib.ExitStack() as stack:
        secrets = _secret_variables(remote, stack)
        stream = stream_git(
            args,
            git_dir=path,
            body=None if stdin is None else _once(stdin),
            environment=clean_environment(
                _variables(remote) | secrets, protocols=(remote.scheme,), config=_configuration(remote)
            ),
            time_limit=_TIME_LIMIT,
            watch=progress.read_stderr,
            ends_with_parent=True,
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
            # Over SSH git passes on what the other side says as if it said so here.
            raise RemoteFailed("broken" if remote.scheme == "ssh" else "room") from None
        except GitFailed as error:
            raise RemoteFailed(_reason(error.stderr)) from None
    return bytes(output)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _reason(stderr: str) -> Reason:
    message = stderr.lower()
    return next((reason for reason, pattern in _MESSAGES if re.search(pattern, message)), "failed")


def _secret_variables(remote: Remote, stack: contextlib.ExitStack) -> dict[str, str]:
    """Environment variables by which git and ssh get the user name and the password."""
    if remote.secrets is None:
        return {}
    descriptor, path = helper_programs.secrets_file(*remote.secrets)
    stack.callback(os.close, descriptor)
    askpass = helper_programs.program_path("ingot-repos-askpass")
    return {
        "GIT_ASKPASS": askpass,
        "SSH_ASKPASS": askpass,
        "SSH_ASKPASS_REQUIRE": "force",
        helper_programs.SECRETS: path,
    }


def _variables(remote: Remote) -> dict[str, str]:
    """Environment variables for git and its helper programs."""
    # With the account's own home curl would read the operator's .netrc.
    variables = {"HOME": os.devnull}
    if remote.proxy is not None:
        port, ticket, token = remote.proxy
        variables[helper_programs.TUNNEL] = f"{port}:{ticket}:{token}"
    if remote.scheme == "ssh":
        variables |= {
            "GIT_SSH": helper_programs.program_path("ingot-repos-ssh"),
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
        settings.append(("core.gitProxy", helper_programs.program_path("ingot-repos-connect")))
    return settings


def _ssh_options(remote: Remote) -> list[str]:
    """ssh_config(5): the proxy, the host keys of the settings, and nothing of the operator's own configuration."""
    any_host = remote.host_keys == "any"
    options = {
        "ProxyCommand": f"{helper_programs.program_path('ingot-repos-connect')} %h %p",
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
