"""The commands of tutorials and how-to guides work, in the order of their page.

A comment before a block marks special ones. ``<!-- server -->``: it runs until it is stopped.
``<!-- needs: X -->``: it runs only if X is installed. ``<!-- after: PAGE -->`` at the top of a page runs a
tutorial first.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from ingot_testing.processes import free_port

from ..arch.sources import ROOT, tracked

DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?:<!-- (server|needs: [\w -]+) -->\n)?^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
AFTER = re.compile(r"<!-- after: ([\w-]+) -->")
SECONDS = 900


class Block(NamedTuple):
    """One block of commands; ``needs`` is empty if every machine of a contributor can run it."""

    page: str
    number: int
    commands: str
    is_server: bool
    needs: str


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """Return the blocks of a page."""
    return tuple(
        Block(page, number, commands, mark == "server", mark.removeprefix("needs: ") * (mark != "server"))
        for number, (mark, commands) in enumerate(BLOCK.findall((DOCS / page).read_text()), 1)
    )


PAGES = sorted(
    file.relative_to(DOCS).as_posix()
    for folder in ("tutorials", "how-to")
    for file in (DOCS / folder).glob("*.md")
    if "```sh\n" in file.read_text()
)
BLOCKS = [block for page in PAGES for block in blocks(page)]


@cache
def exists(needed: str) -> bool:
    """True if this machine has what a block needs. Clusters and browsers have tests of their own."""
    if needed == "docker":
        return subprocess.run(["docker", "version"], capture_output=True, check=False).returncode == 0
    return needed in ("", "kubectl", "git-lfs", "ssh") and (not needed or shutil.which(needed) is not None)


def test_the_tutorials_and_guides_have_commands():
    assert {"tutorials/first-session.md", "tutorials/first-change.md", "tutorials/first-service.md"} <= {
        *PAGES
    }
    assert len(BLOCKS) > 30


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}-{block.number}")
def test_a_block_is_shell_and_says_what_it_needs(block):
    checked = subprocess.run(
        ["bash", "-n"], input=block.commands, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    if not exists(block.needs):
        pytest.skip(f"not run: needs {block.needs}")


@pytest.fixture
def checkout(tmp_path) -> Iterator[Path]:
    """A copy of this repository with the packages that are installed here."""
    folder = tmp_path / "ingot"
    for file in tracked():
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
        os.utime(copy, (1, 1))  # older than what is installed, so make installs nothing
    commands = [
        "init -q -b main",
        "add -A",
        "-c user.name=ann -c user.email=ann@example.org commit -qm Begin",
    ]
    for command in commands:
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / ".tools").symlink_to(ROOT / ".tools")
    return folder


def script(page: str, port: int) -> str:
    """Return the commands of a page that this machine can run, as one script."""
    text = (DOCS / page).read_text()
    parts = [script(f"tutorials/{earlier}.md", port) for earlier in AFTER.findall(text)]
    for block in blocks(page):
        if block.is_server:
            ready = (
                f"until curl -sf -o {os.devnull} http://127.0.0.1:{port}/api/v1/version; do sleep 0.2; done"
            )
            parts += [f"({block.commands.strip()}) &", ready]
        elif exists(block.needs):
            parts.append(block.commands)
    return "\n".join(parts)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(exists(block.needs) for block in blocks(page))]
)
def test_the_commands_of_a_page_work(page, checkout, tmp_path):
    port, alone, ssh, smtp = (free_port() for _ in range(4))
    (tmp_path / "srv").mkdir()
    commands = script(page, port)
    for old, new in [
        ("127.0.0.1:3000", f"127.0.0.1:{port}"), ("localhost:3000", f"localhost:{port}"),
        ("8025", str(smtp)), ("--port 3000", f"--port {port}"),
        ("--port 8000", f"--port {port}"),
        ("8083", str(alone)), ("2222", str(ssh)), ("0.0.0.0", "127.0.0.1"), ("/srv/", f"{tmp_path}/srv/"),
        (" /backup", f" {tmp_path}/backup"), ("~/", f"{tmp_path}/"),
    ]:  # fmt: skip
        commands = commands.replace(old, new)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in sorted(checkout.glob("*/*/src"))),
        "INGOT_PORT": str(port), "INGOT_SSH_PORT": str(ssh), "TMPDIR": str(tmp_path), "HOME": str(tmp_path),
        "GIT_AUTHOR_NAME": "ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_COMMITTER_NAME": "ann",
        "GIT_COMMITTER_EMAIL": "ann@example.org", "GIT_PAGER": "cat",
    }  # fmt: skip
    log = tmp_path / "log"
    with log.open("wb") as output:
        run = subprocess.Popen(
            ["bash", "-eu", "-c", commands],
            cwd=checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code = run.wait(SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGTERM)
    assert code == 0, log.read_text()[-4000:]
