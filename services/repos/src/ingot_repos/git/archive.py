"""Archives of a commit, streamed out of `git archive` (git-archive(1)) as it writes them."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Literal

from ingot_repos.git.command import GitArgs
from ingot_repos.git.errors import InvalidName
from ingot_repos.git.refs import is_object_id
from ingot_repos.git.streaming import stream_git

ArchiveFormat = Literal["zip", "tar.gz"]

_FOLDER = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")


def stream_archive(
    path: Path, commit: str, archive_format: ArchiveFormat, folder: str, *, time_limit: float = 600.0
) -> AsyncGenerator[bytes, None]:
    """Yield the archive of a commit with everything inside one root folder.

    Args:
        path: the bare repository.
        commit: full id, known to exist.
        archive_format: the same commit and folder always give the same bytes of tar; gzip without time.
        folder: name of the root folder: letters, digits, `.`, `_` and `-`.
        time_limit: seconds; git is killed then, and whenever the consumer closes the generator.

    Raises:
        InvalidName: at once, for the commit or the folder.
        GitFailed: while iterating; before the first chunk when the commit does not exist.
    """
    if not is_object_id(commit):
        raise InvalidName("not a commit id")
    if _FOLDER.fullmatch(folder) is None:
        raise InvalidName("not a folder name")
    args = GitArgs("archive", (f"--format={archive_format}", f"--prefix={folder}/"), (commit,))
    return stream_git(args, git_dir=path, time_limit=time_limit)
