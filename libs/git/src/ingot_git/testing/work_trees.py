"""Work trees in which git itself merges and rebases."""

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
}


def run_in_work_tree(bare: str, folder: str | Path, base: str, *arguments: str) -> tuple[str | None, int]:
    """Run a git command in a work tree of ``base``.

    Return the tree of HEAD after the command, and the number of commits in main..HEAD. The tree is None if
    the command failed, for example with a conflict.
    """
    work = Path(folder) / "work"

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-C", str(work), *words], env=ENVIRONMENT, capture_output=True, text=True, check=False
        )

    subprocess.run(
        ["git", "clone", "-q", "--shared", "--no-checkout", bare, work], env=ENVIRONMENT, check=True
    )
    git("checkout", "-q", "--detach", base)
    result = git(*arguments)
    tree = git("rev-parse", "HEAD^{tree}").stdout.strip() if result.returncode == 0 else None
    count = git("rev-list", "--count", "origin/main..HEAD").stdout.strip()
    return tree, int(count or 0)
