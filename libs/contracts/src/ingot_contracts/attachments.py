"""Files that people add to things: to releases, issues and comments."""

from datetime import datetime

import msgspec


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file. ``digest`` is its checksum, as ``sha256:`` and hexadecimal digits."""

    id: int
    uuid: str
    name: str
    size: int
    download_count: int = 0
    created_at: datetime
    browser_download_url: str
    digest: str = ""
