"""Commits listed and counted by git, which knows from the commit-graph what follows what, and which ones cannot have changed a path."""

from collections.abc import Sequence
from pathlib import Path

import pygit2

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.errors import GitFailed, GitTimedOut, OutputTooLarge

_SECONDS = 5.0


def path_commits(
    repo: pygit2.Repository, revisions: Sequence[str], name: str, *, most: int
) -> list[tuple[int, str]] | None:
    """Time of the committer (seconds since the epoch) and full id, newest first; None if git needs too long.

    Args:
        repo: the repository, whose git folder is asked.
        revisions: full ids; behind a `^` one whose history is left out.
        name: the path of a file or folder, not empty.
        most: how many are listed.
    """
    if "\n" in name:
        return None
    lines = _rev_list(repo, ("--timestamp", f"--max-count={most}"), [*revisions, "--", name])
    if lines is None:
        return None
    return [(int(seconds), oid) for seconds, oid in (line.split() for line in lines)]


def listed_commits(
    repo: pygit2.Repository, revisions: Sequence[str], *, offset: int, most: int
) -> list[str] | None:
    """Full ids behind the first ``offset`` ones, newest first; None if git needs too long."""
    return _rev_list(repo, (f"--skip={offset}", f"--max-count={most}"), revisions)


def count_commits(repo: pygit2.Repository, revisions: Sequence[str], *, most: int) -> int | None:
    """How many there are, counted up to ``most``; None if git needs too long."""
    lines = _rev_list(repo, ("--count", f"--max-count={most}"), revisions)
    return None if lines is None else int(lines[0])


def _rev_list(repo: pygit2.Repository, options: tuple[str, ...], names: Sequence[str]) -> list[str] | None:
    try:
        output = run_git(
            GitArgs("rev-list", (*options, "--stdin")),
            git_dir=Path(repo.path),
            stdin="\n".join([*names, ""]).encode(),
            environment=clean_environment({"GIT_LITERAL_PATHSPECS": "1"}),
            time_limit=_SECONDS,
        )
    except (GitFailed, GitTimedOut, OutputTooLarge):
        return None
    return output.decode().splitlines()
