"""Components of attachments."""

from dataclasses import dataclass

from ingot_issues.attachments.rules import AttachmentEditor


@dataclass(frozen=True)
class AttachmentComponents:
    """``editor`` is None without a storage: there are no files then."""

    editor: AttachmentEditor | None = None
