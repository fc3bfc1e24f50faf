"""The reply of an endpoint."""

from collections.abc import Mapping

import msgspec


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The response of an endpoint. ``status`` 0: there was no response, and ``error`` is the reason."""

    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes = b""
    error: str = ""
