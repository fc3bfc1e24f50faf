"""Starts ``lone_repos.py``, a server in a process of its own."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


@contextlib.asynccontextmanager
async def lone_repos(settings, *, stderr=None):
    """Start a process. Return it with its first line of output, and terminate it at the end of the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "lone_repos.py"),
        json.dumps(settings),
        cwd=HERE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )
    try:
        yield process, json.loads(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.terminate()
        assert await process.wait() in (0, -15)
