"""Signs with ssh-keygen(1), which reads the private key from a file in memory."""

import os
import subprocess
import tempfile
import weakref

from ingot_repos.git.process.command import clean_environment
from ingot_repos.git.process.errors import SigningFailed

_SECONDS = 20.0
_NAMESPACE = "git"
"""git verifies SSH signatures of this namespace only (gitformat-signature(5))."""


class SshKeyFile:
    """A private key without a passphrase in a file that has no name, for as long as this object exists.

    ssh-keygen refuses a key that other accounts can read, whatever file the operator mounts.
    """

    def __init__(self, private_key: bytes) -> None:
        self._file = _unnamed_file()
        weakref.finalize(self, os.close, self._file)
        os.fchmod(self._file, 0o600)
        os.write(self._file, private_key)

    def sign(self, payload: bytes) -> bytes:
        """Return the armored signature of a commit or tag. Blocks. Raises SigningFailed."""
        path = f"/dev/fd/{self._file}"
        try:
            run = subprocess.run(
                ["ssh-keygen", "-Y", "sign", "-n", _NAMESPACE, "-f", path],
                input=payload,
                capture_output=True,
                env=clean_environment(),
                pass_fds=(self._file,),
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise SigningFailed("ssh-keygen is not installed") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SigningFailed(f"ssh-keygen did not run: {error}") from error
        if run.returncode != 0 or not run.stdout:
            said = run.stderr.decode("utf-8", "replace").replace(path, "the key").split("\n")
            raise SigningFailed(f"ssh-keygen failed: {said[0][:200]}")
        return run.stdout


def _unnamed_file() -> int:
    """Return the descriptor of a new file. Outside Linux it is on the disk, without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("signing-key")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
