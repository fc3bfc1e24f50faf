"""Answers questions of git hooks: whether a ref may move, and whether the repository may accept new objects.

A hook creates a folder with its question and a FIFO for the answer. It writes the name of this folder into
the FIFO of the process that started git. All these files are below ``questions`` in the storage. A line is
one write, so lines of several hooks do not mix (pipe(7)).
"""

import asyncio
import contextlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import structlog

from ingot_git.process.errors import HooksNotRun
from ingot_git.refs.refs import RefChange

log = structlog.get_logger()

UNKNOWN = "what the push brings could not be looked at; push again"
"""The message for a push that could not be checked."""
_ABANDONED_SECONDS = 2 * 3600.0
_LONGEST_LINE = 2000
PUSH = "push"
"""Replaces the ref in a question about the whole push."""
LATE = "late"
"""Replaces the ref in the question of a slow push: may it continue?"""
LATE_SECONDS = 3.0
"""Age in seconds after which the decision about a push is repeated before refs move.

It is shorter than the lifetime of a positive decision.
"""
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_OWN = secrets.token_hex(4)
"""A random suffix of the process name: containers of a pod share a host name and a process id of 1."""


def process_name() -> str:
    """Return the name of this process's folder below ``questions``."""
    return f"{socket.gethostname()}-{os.getpid()}-{_OWN}"


class HookQuestions:
    """Answers questions of hooks with the reason for a rejection, or an empty text.

    If an answer fails, the push is rejected.

    Args:
        root: the folder of the storage.
        of_ref: answers for one ref, after its commits have arrived. Takes the question of the `RefRefusal`
            and the change of the ref.
        of_push: answers for a push. Takes the id of the repository, the quarantine folder with the new
            objects, and the new ids of its refs.
    """

    def __init__(
        self,
        root: Path,
        of_ref: Callable[[str, RefChange], Awaitable[str]],
        of_push: Callable[[int, Path, Sequence[str]], Awaitable[str]],
    ) -> None:
        self._root, self._of_ref, self._of_push = root / "questions", of_ref, of_push
        self._fifo = -1
        self._unread = b""
        self._tasks = set[asyncio.Task[None]]()
        self.late_seconds = LATE_SECONDS
        self._late: dict[str, Callable[[], Awaitable[str]]] = {}

    @contextlib.asynccontextmanager
    async def question_if_late(
        self, since: float, hooks: Callable[[], Path], of_late_push: Callable[[], Awaitable[str]]
    ) -> AsyncIterator[Path]:
        """Yield a hooks path for a push. If the push is slow, the path becomes a link to the hooks.

        ``hooks`` returns the folder of these hooks, which then ask ``of_late_push``. ``since`` is the time at
        which the push was allowed to begin, in seconds by the clock of the loop. A push is slow
        ``late_seconds`` after this time. If the link cannot be created, the push is cancelled.
        """
        loop, push = asyncio.get_running_loop(), asyncio.current_task()
        path = self._root / process_name() / f"{LATE}-{secrets.token_hex(8)}"

        def enable_hooks() -> None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(hooks().absolute())
            except (OSError, HooksNotRun) as error:
                log.warning("a push that takes long cannot be asked about", error=repr(error))
                if push is not None:
                    push.cancel()

        self._late[path.name] = of_late_push
        timer = loop.call_at(since + self.late_seconds, enable_hooks)
        try:
            yield path
        finally:
            timer.cancel()
            del self._late[path.name]
            with contextlib.suppress(OSError):
                path.unlink()

    async def open(self) -> None:
        """Start to answer questions of hooks.

        Without FIFOs in the storage, hooks reject each push whose files or signatures must be checked.
        """
        self._clear()
        folder = self._root / process_name()
        folder.mkdir(parents=True, exist_ok=True)
        fifo = folder / "asked"
        fifo.unlink(missing_ok=True)
        try:
            os.mkfifo(fifo, 0o600)
        except OSError as error:
            log.warning(
                "the storage takes no FIFO; pushes by rules about files and signatures are refused",
                error=repr(error),
            )
            return
        # Open for writing, too: the FIFO never ends, and the write of a hook does not wait for a reader.
        self._fifo = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._fifo, self._read)

    async def close(self) -> None:
        if self._fifo < 0:
            return
        asyncio.get_running_loop().remove_reader(self._fifo)
        os.close(self._fifo)
        self._fifo = -1
        shutil.rmtree(self._root / process_name(), ignore_errors=True)

    def _clear(self) -> None:
        """Remove old folders of processes that died."""
        if not self._root.is_dir():
            return
        for folder in self._root.iterdir():
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime <= time.time() - _ABANDONED_SECONDS and not _is_read(
                    folder / "asked"
                ):
                    shutil.rmtree(folder, ignore_errors=True)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._unread += os.read(self._fifo, 64 * 1024)
        *names, self._unread = self._unread.split(b"\n")
        for name in names:
            task = asyncio.create_task(self._reply(self._root / process_name() / os.fsdecode(name)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _reply(self, folder: Path) -> None:
        """Answer the question in a folder with one line: ``+``, or ``-`` and the reason."""
        try:
            about, *facts = os.fsdecode((folder / "question").read_bytes()).removesuffix("\n").split("\n")
            if about == LATE:
                reason = await self._late[facts[0]]()
            elif about == PUSH:
                reason = await self._of_push(int(facts[0]), Path(facts[1]), facts[2:])
            else:
                reason = await self._of_ref(facts[2], RefChange(about, facts[0], facts[1]))
        except Exception:
            log.exception("a question of the hook was not answered")
            reason = UNKNOWN
        text = f"-{_CONTROL.sub('?', reason)}" if reason else "+"
        line = text.encode(errors="replace")[:_LONGEST_LINE]
        with contextlib.suppress(OSError):  # the hook was killed
            descriptor = os.open(folder / "answer", os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(descriptor, line + b"\n")
            finally:
                os.close(descriptor)


def _is_read(fifo: Path) -> bool:
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True
