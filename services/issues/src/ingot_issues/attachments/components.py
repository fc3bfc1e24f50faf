"""Components of attachments."""

from dataclasses import dataclass

from ingot_issues.attachments.rules import AttachmentEditor


@dataclass(frozen=True)
class AttachmentComponents:
    """Components of attachments. ``editor`` is None if no storage is configured."""

    editor: AttachmentEditor | None = None
