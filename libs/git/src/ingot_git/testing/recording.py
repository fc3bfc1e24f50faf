"""A git that records its command lines."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path


class GitLog:
    """Command lines with which git was started, oldest first. The git of PATH runs them."""

    def __init__(self, folder: Path) -> None:
        """Write the recording git into a new folder."""
        folder.mkdir()
        self._file = folder / "git.log"
        self.search_path = f"{folder}:{os.environ['PATH']}"
        """PATH of processes that shall be recorded."""
        script = folder / "git"
        script.write_text(
            f'#!/bin/sh\nfor a in "$@"; do printf \'%s\\037\' "$a"; done >> "{self._file}"\n'
            f'printf \'\\036\' >> "{self._file}"\nexec "{shutil.which("git")}" "$@"\n'
        )
        script.chmod(0o755)

    def __iter__(self) -> Iterator[list[str]]:
        text = self._file.read_bytes() if self._file.exists() else b""
        return (line.decode(errors="replace").split("\x1f")[:-1] for line in text.split(b"\x1e")[:-1])

    def clear(self) -> None:
        """Delete all recorded command lines."""
        self._file.unlink(missing_ok=True)
