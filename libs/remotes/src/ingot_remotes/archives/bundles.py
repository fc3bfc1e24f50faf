"""The headers of bundles (gitformat-bundle(5)) in archives, which are checked before git opens the files.

For an absolute path git opens a bundle, a repository, or the repository that a file with ``gitdir:`` names.
For git, a file with the header of a bundle is always a bundle.
"""

import re
from io import BufferedReader

from ingot_git.remote.remote import MAX_REFS
from ingot_remotes.archives.layout import ArchiveInvalid

MOST_LINE_BYTES = 4 * 1024
MOST_HEADER_BYTES = 32 * 1024 * 1024
_SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")
_CAPABILITY = b"@object-format=sha1\n"
_REF = re.compile(rb"[0-9a-f]{40} [^\x00-\x20\x7f]+\n")


def require_bundle(file: BufferedReader, path: str) -> None:
    """Check the header of a bundle. Raises ArchiveInvalid, with ``path`` in its message."""
    signature = file.readline(MOST_LINE_BYTES)
    if signature not in _SIGNATURES:
        raise ArchiveInvalid(f"{path} is not a bundle of git")
    count, size = 0, 0
    while (line := file.readline(MOST_LINE_BYTES)) != b"\n":
        size += len(line)
        if size > MOST_HEADER_BYTES:
            raise ArchiveInvalid(f"{path} has a header of more than {MOST_HEADER_BYTES:,} bytes")
        if line.startswith(b"@") and signature == _SIGNATURES[1] and count == 0:
            if line != _CAPABILITY:
                raise ArchiveInvalid(f"{path} has another capability than object-format=sha1")
            continue
        if line.startswith(b"-"):
            raise ArchiveInvalid(f"{path} has only a part of the history")
        if not _REF.fullmatch(line):
            raise ArchiveInvalid(f"{path} is damaged: a line of its header is not a ref")
        count += 1
        if count > MAX_REFS:
            raise ArchiveInvalid(f"{path} has more than {MAX_REFS:,} refs")
