"""Which files of a pull request somebody has looked at, and whether they changed since."""

import hashlib
from collections.abc import Mapping

from ingot_web.core.diffs import Diff, DiffFile, FileView


def note_views(diff: Diff, views: Mapping[str, str]) -> None:
    """Say so of each file; ``views`` has the changes that were looked at, as issues has them.

    A diff without changes of white space is not all that changed, so nothing is said there.
    """
    if diff.hides_spaces:
        return
    for file in diff.files:
        path = hashlib.sha256(file.path.encode("utf-8", "replace")).hexdigest()
        changes = _changes_of(file, diff)
        before = views.get(path)
        file.view = FileView(path, changes, before == changes, before not in (None, changes))


def _changes_of(file: DiffFile, diff: Diff) -> str:
    """What is looked at: the changes; of a binary file, of which a diff shows none, the commit that has it."""
    if not file.is_binary:
        return file.digest
    return hashlib.sha256(f"{file.digest} {diff.after}".encode()).hexdigest()
