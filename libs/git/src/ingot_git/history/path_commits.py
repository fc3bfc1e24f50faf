"""Lists and counts commits with git, which uses the commit-graph and its changed paths."""

from collections.abc import Sequence
from pathlib import Path

import pygit2

from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.cpu_time import READ
from ingot_git.process.errors import GitFailed, GitTimedOut, OutputTooLarge

_SECONDS = 5.0


def path_commits(
    repo: pygit2.Repository, revisions: Sequence[str], name: str, *, most: int
) -> list[tuple[int, str]] | None:
    """Return committer time (seconds since the epoch) and full id of the commits that change a path.

    The latest commit comes first. Return None on timeout, or if the name contains a line break.

    Args:
        repo: the repository, whose git folder is read.
        revisions: full ids; the history of an id after `^` is skipped.
        name: the path of a file or folder, not empty.
        most: maximum number of commits.
    """
    if "\n" in name:
        return None
    lines = _rev_list(repo, ("--timestamp", f"--max-count={most}"), [*revisions, "--", name])
    if lines is None:
        return None
    return [(int(seconds), oid) for seconds, oid in (line.split() for line in lines)]


def listed_commits(repo: pygit2.Repository, start: str, *, offset: int, most: int) -> list[str] | None:
    """Return full ids of a history after the first ``offset`` commits, latest first; None on timeout."""
    return _rev_list(repo, (f"--skip={offset}", f"--max-count={most}"), [start])


def count_commits(repo: pygit2.Repository, start: str, *, most: int) -> int | None:
    """Return the number of commits of a history, counted up to ``most``; None on timeout."""
    lines = _rev_list(repo, ("--count", f"--max-count={most}"), [start])
    return None if lines is None else int(lines[0])


def _rev_list(repo: pygit2.Repository, options: tuple[str, ...], names: Sequence[str]) -> list[str] | None:
    try:
        output = run_git(
            GitArgs("rev-list", (*options, "--stdin")),
            git_dir=Path(repo.path),
            stdin="\n".join([*names, ""]).encode(),
            environment=clean_environment({"GIT_LITERAL_PATHSPECS": "1"}),
            time_limit=_SECONDS,
            max_cpu=READ,
        )
    except (GitFailed, GitTimedOut, OutputTooLarge):
        return None
    return output.decode().splitlines()
