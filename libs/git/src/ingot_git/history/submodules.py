"""The URLs of submodules in `.gitmodules` (gitmodules(5)). git parses it as a configuration file."""

import re

import pygit2

from ingot_git.process.command import MIB, GitArgs, run_git
from ingot_git.process.errors import GitFailed, GitTimedOut, ObjectNotFound, OutputTooLarge
from ingot_git.refs.trees import entry_at
from ingot_git.storage.read_cache import SharedCache

LARGEST = 256 * 1024
"""Maximum size of the file in bytes."""
_SECONDS = 5.0
_PARENT = re.compile(rb"(^|[/\\])\.\.([/\\]|$)")


def module_urls(repo: pygit2.Repository, root: str, cache: SharedCache[dict[str, str]]) -> dict[str, str]:
    """Return the URL of each submodule by path, from `.gitmodules` of a tree (full id).

    Return no URLs if the file is broken or too large.
    """
    try:
        entry = entry_at(repo, root, ".gitmodules")
    except ObjectNotFound:
        return {}
    if entry.kind != "file" or repo.odb.read_header(entry.oid)[1] > LARGEST:
        return {}
    urls = cache.get(entry.oid)
    if urls is None:
        urls = _read(repo.odb.read(entry.oid)[1])
        cache.put(
            entry.oid,
            urls,
            size=1 + sum(100 + len(path) + len(url) for path, url in urls.items()) // 200,
        )
    return urls


def _read(content: bytes) -> dict[str, str]:
    # git includes no other file here; libgit2 would, and could read files of the machine.
    args = GitArgs("config", ("--file=-", "--no-includes", "--list", "-z"))
    try:
        output = run_git(args, stdin=content, time_limit=_SECONDS, max_output=MIB)
    except (GitFailed, GitTimedOut, OutputTooLarge):
        return {}
    modules: dict[bytes, dict[bytes, str]] = {}
    for record in output.split(b"\0"):
        key, has_value, value = record.partition(b"\n")
        section, _, rest = key.partition(b".")
        name, _, field = rest.rpartition(b".")
        # git ignores these values, too: they could be options or point outside of the modules folder.
        if section == b"submodule" and name and has_value and not _PARENT.search(name) and value[:1] != b"-":
            modules.setdefault(name, {})[field] = value.decode("utf-8", "replace")
    return {
        module[b"path"]: module[b"url"]
        for module in modules.values()
        if module.get(b"path") and module.get(b"url")
    }
