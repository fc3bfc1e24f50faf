"""Attachments of releases, issues and comments."""

from datetime import datetime
from typing import Annotated

import msgspec

from ingot_contracts.limits import EventShortText, most_bytes


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """An attached file. ``digest`` is its checksum: ``sha256:`` and hexadecimal digits."""

    id: int
    uuid: EventShortText
    name: str
    size: int
    download_count: int = 0
    created_at: datetime
    browser_download_url: str
    digest: Annotated[str, most_bytes(500)] = ""
