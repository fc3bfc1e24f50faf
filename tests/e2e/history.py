"""A real history to push: the one of this project, and some branches and tags more."""

import asyncio
import os
from pathlib import Path

HERE = Path(__file__).parent
BIG_FILE = 4_000_000
"""Bytes that do not compress, so a push takes long enough to be cut in the middle."""

PATIENCE = 120.0
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "GIT_AUTHOR_NAME": "Ann Author",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann Author",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


class GitFailed(Exception):
    """git ended with another code than 0; the text is what it said."""


async def git(*arguments: str | Path, cwd: Path = HERE) -> str:
    """Run the real git; what it printed. Raises GitFailed."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *map(str, arguments),
        cwd=cwd,
        env=ENVIRONMENT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise GitFailed(f"git {' '.join(map(str, arguments))}: not done in {PATIENCE} s") from None
    if process.returncode != 0:
        raise GitFailed(f"git {' '.join(map(str, arguments))}: {err.decode(errors='replace')}")
    return out.decode()


async def commit_file(work: Path, name: str, content: bytes, message: str) -> str:
    """Commit one file in a work tree; the id of the commit."""
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_bytes(content)
    await git("add", "--", name, cwd=work)
    await git("commit", "-q", "-m", message, cwd=work)
    return (await git("rev-parse", "HEAD", cwd=work)).strip()


async def make_history(folder: Path) -> Path:
    """A work tree in ``folder`` with `main`, several branches and tags of both kinds."""
    work = folder / "source"
    if not await _cloned(work):
        await _built(work)
    await git("checkout", "-q", "-B", "main", cwd=work)
    await commit_file(work, "docs/über uns.md", "# Über uns\n\n*Hallo*\n".encode(), "Say who we are")
    await git("tag", "v0.1", cwd=work)
    await git("tag", "-a", "v0.2", "-m", "the second\n\nwith notes", cwd=work)
    for branch in ("feature/one", "feature/two/deep", "release-1.x"):
        await git("checkout", "-q", "-b", branch, "main", cwd=work)
        await commit_file(work, f"{branch}.txt", branch.encode(), f"Work on {branch}")
    await git("tag", "-a", "release/1.0", "-m", "first release", cwd=work)
    await git("checkout", "-q", "-b", "assets", "main", cwd=work)
    await commit_file(work, "big.bin", os.urandom(BIG_FILE), "Add a large file")
    await git("checkout", "-q", "main", cwd=work)
    return work


async def _cloned(work: Path) -> bool:
    """Copy this project's own history. Return False for a shallow one, which cannot be pushed."""
    try:
        top = (await git("rev-parse", "--show-toplevel")).strip()
        if (await git("rev-parse", "--is-shallow-repository")).strip() == "true":
            return False
        await git("clone", "-q", "--no-local", "--single-branch", "--no-tags", top, work)
        branch = (await git("branch", "--show-current", cwd=work)).strip()
        await git("remote", "remove", "origin", cwd=work)
        if branch and branch != "main":
            await git("branch", "-q", "-m", branch, "main", cwd=work)
    except GitFailed:
        return False
    return True


async def _built(work: Path) -> None:
    await git("init", "-q", "-b", "main", work)
    for number in range(20):
        await commit_file(work, f"chapter-{number % 5}.md", f"# {number}\n".encode(), f"Write part {number}")
    await git("checkout", "-q", "-b", "side", "HEAD~5", cwd=work)
    await commit_file(work, "side.md", b"# side\n", "Write something beside")
    await git("checkout", "-q", "main", cwd=work)
    await git("merge", "-q", "--no-ff", "-m", "Bring the side in", "side", cwd=work)
    await git("branch", "-q", "-D", "side", cwd=work)


async def refs(repository: Path) -> dict[str, str]:
    """Branches and tags, as they are stored."""
    listed = await git(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", cwd=repository
    )
    return {name: sha for sha, name in (line.split(" ", 1) for line in listed.splitlines())}


async def remote_refs(url: str) -> dict[str, str]:
    """Branches and tags, as the server lists them."""
    listed = await git("ls-remote", "--heads", "--tags", "--refs", url)
    return {name: sha for sha, name in (line.split("\t", 1) for line in listed.splitlines())}
