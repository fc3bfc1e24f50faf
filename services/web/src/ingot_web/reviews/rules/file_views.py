"""Files of a pull request that a person has viewed, and changes since then."""

import hashlib
from collections.abc import Mapping

from ingot_web.diffs.rules.parsing import Diff, FileView


def note_views(diff: Diff, views: Mapping[str, str]) -> None:
    """Mark viewed files in a diff. ``views`` has the digests of the viewed changes, as issues stores them.

    A diff that hides white space is not the complete change, so no file is marked in it.
    """
    if diff.hides_spaces:
        return
    for file in diff.files:
        path = hashlib.sha256(file.path.encode("utf-8", "replace")).hexdigest()
        # Where the text does not tell the changes: the commit that has them.
        changes = file.digest or hashlib.sha256(f"{path} {diff.after}".encode()).hexdigest()
        before = views.get(path)
        file.view = FileView(path, changes, before == changes, before not in (None, changes))
