"""The answer of routes that ask whether something is so: a status, and never a body."""

from typing import Any

from litestar import MediaType, Response


class CheckResponse(Response[None]):
    """204, or 404 without an error object, as clients expect it of a *no*."""

    def render(self, *_: Any, **__: Any) -> bytes:
        return b""


def check_answer(is_so: bool) -> Response[None]:
    return CheckResponse(None, status_code=204 if is_so else 404, media_type=MediaType.TEXT)
