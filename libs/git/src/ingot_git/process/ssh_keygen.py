"""Signs with ssh-keygen(1), which reads the private key from a file in memory."""

import contextlib
import os
import subprocess
import tempfile
import threading
import weakref
from typing import IO, cast

from ingot_git.process.command import clean_environment
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.errors import SigningFailed

_SECONDS = 20.0
_NAMESPACE = "git"
"""git verifies SSH signatures of this namespace only (gitformat-signature(5))."""


class SshKeyFile:
    """A private key without a passphrase in a file without a name. The file exists as long as this object.

    ssh-keygen refuses a key that other accounts can read. So the operator's file is copied, and its
    permissions do not matter.
    """

    def __init__(self, private_key: bytes) -> None:
        self._file = _unnamed_file()
        weakref.finalize(self, os.close, self._file)
        os.fchmod(self._file, 0o600)
        os.write(self._file, private_key)

    def sign(self, payload: bytes, budget: CpuBudget | None = None) -> bytes:
        """Return the armored signature of a commit or tag. Blocks. Raises SigningFailed.

        ``budget`` is charged for the CPU time of ssh-keygen.
        """
        path = f"/dev/fd/{self._file}"
        try:
            process = subprocess.Popen(
                ["ssh-keygen", "-Y", "sign", "-n", _NAMESPACE, "-f", path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=clean_environment(),
                pass_fds=(self._file,),
            )
        except FileNotFoundError as error:
            raise SigningFailed("ssh-keygen is not installed") from error
        except OSError as error:
            raise SigningFailed(f"ssh-keygen did not run: {error}") from error
        signed, said = _exchange(process, payload, budget)
        if process.returncode != 0 or not signed:
            line = said.decode("utf-8", "replace").replace(path, "the key").split("\n")[0]
            raise SigningFailed(f"ssh-keygen failed: {line[:200]}")
        return signed


def _exchange(
    process: subprocess.Popen[bytes], payload: bytes, budget: CpuBudget | None
) -> tuple[bytes, bytes]:
    """Write the payload. Return stdout and stderr of the process, which reads all input before it writes.

    The budget is charged before the process is reaped, because its CPU clock is lost then.
    """
    stdin, stdout, stderr = (
        cast("IO[bytes]", pipe) for pipe in (process.stdin, process.stdout, process.stderr)
    )
    deadline = threading.Timer(_SECONDS, process.kill)
    deadline.start()
    try:
        with process:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(payload)
                stdin.close()
            output = stdout.read(), stderr.read()
            if budget is not None:
                budget.charge_whole(process.pid)
    finally:
        deadline.cancel()
    return output


def _unnamed_file() -> int:
    """Return the descriptor of a new file without a name: in memory on Linux, else on the disk."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("signing-key")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
