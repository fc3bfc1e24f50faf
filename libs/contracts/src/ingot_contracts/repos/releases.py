"""Releases in the form of the API."""

from datetime import datetime

import msgspec

from ingot_contracts.attachments import Attachment
from ingot_contracts.identity.accounts import User


class PublishedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/releases/{release_id}: a release in its current state.

    The answer is 404 for a draft and for a deleted release.
    """

    tag_name: str
    name: str
    body: str


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A tag with release notes.

    ``published_at`` is the time of its publication; for a draft it is ``created_at``. ``created_at`` is the
    time of the tagged commit; for a draft, the time of its creation.
    """

    id: int
    tag_name: str
    target_commitish: str = ""
    name: str = ""
    body: str = ""
    url: str
    html_url: str = ""
    tarball_url: str = ""
    zipball_url: str = ""
    draft: bool = False
    prerelease: bool = False
    created_at: datetime
    published_at: datetime | None = None
    author: User
    original_author: str = ""
    original_author_id: int = 0
    upload_url: str = ""
    assets: list[Attachment] = []
