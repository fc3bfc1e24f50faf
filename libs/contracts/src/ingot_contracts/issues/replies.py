"""Replies by mail, which mail passes to issues as comments."""

from typing import Annotated

import msgspec

MOST_CHARACTERS = 65_536
"""The limit for the text of a reply."""


class ReplyByMail(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/issues/{id}/replies: a comment by the principal of the call.

    ``key`` names the message: a second call with it stores nothing. ``body`` is Markdown.
    """

    key: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    body: Annotated[str, msgspec.Meta(max_length=MOST_CHARACTERS)]


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """The comment of a reply, also if an earlier call stored it."""

    comment_id: int
