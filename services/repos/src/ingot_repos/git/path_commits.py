"""The commits that change one path, by git: it knows from the commit-graph which ones cannot have changed it."""

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
    try:
        output = run_git(
            GitArgs("rev-list", ("--timestamp", f"--max-count={most}", "--stdin")),
            git_dir=Path(repo.path),
            stdin="\n".join([*revisions, "--", name, ""]).encode(),
            environment=clean_environment({"GIT_LITERAL_PATHSPECS": "1"}),
            time_limit=_SECONDS,
        )
    except (GitFailed, GitTimedOut, OutputTooLarge):
        return None
    commits = (line.split() for line in output.decode().splitlines())
    return [(int(seconds), oid) for seconds, oid in commits]
