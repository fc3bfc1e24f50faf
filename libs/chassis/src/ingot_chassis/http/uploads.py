"""A file in a request body, read as a stream: a field of a form, or the whole body."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from ingot_chassis.errors import BadRequest
from ingot_chassis.http.request import ApiRequest

ANNOUNCED_LENGTH_HEADER = "ingot-announced-length"
"""The announced size in bytes of a body that the gateway forwards in chunks.

It is a hint, never framing.
"""
MOST_FIELDS = 16
BESIDE_FILE_BYTES = 64 * 1024
"""Bytes of all other fields of the form together."""

_FormEvents = AsyncGenerator[MultipartSegment | bytes | None, None]
"""Events of a form: the head of a field, its bytes, and None at its end."""


class UploadedFile(NamedTuple):
    """An uploaded file. ``name`` comes from the client and may be empty.

    ``chunks`` raise BadRequest if the body ends too early or the form has more than one file.
    """

    name: str
    length: int | None
    """The announced length in bytes; None if the client announced none."""
    chunks: AsyncGenerator[bytes, None]


async def uploaded_file(request: ApiRequest, field: str) -> UploadedFile:
    """Return the file in ``field`` of a form, or the whole body if it is not a form. Raises BadRequest."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != "multipart/form-data":
        announced = request.headers.get("content-length", request.headers.get(ANNOUNCED_LENGTH_HEADER, ""))
        return UploadedFile("", int(announced) if announced.isdecimal() else None, _whole(request))
    boundary = options.get("boundary", "")
    if not boundary:
        raise BadRequest("the form has no boundary")
    events = _form_events(request, boundary)
    file_name = await _begin_of(events, field)
    return UploadedFile(file_name, None, _until_end(events))


async def _whole(request: ApiRequest) -> AsyncGenerator[bytes, None]:
    async for chunk in request.stream():
        if chunk:
            yield chunk


async def _form_events(request: ApiRequest, boundary: str) -> _FormEvents:
    try:
        with PushMultipartParser(boundary, max_segment_count=MOST_FIELDS) as parser:
            async for chunk in request.stream():
                if chunk:
                    for event in parser.parse(chunk):
                        yield bytes(event) if isinstance(event, bytearray) else event
    except MultipartError as error:
        raise BadRequest(f"the form cannot be read: {error}") from error


async def _begin_of(events: _FormEvents, field: str) -> str:
    """Skip the fields before ``field``. Return the name of its file. Raises BadRequest."""
    skipped = 0
    async for event in events:
        if isinstance(event, MultipartSegment):
            if event.name == field and event.filename is not None:
                return str(event.filename)
        elif event is not None:
            skipped += len(event)
            if skipped > BESIDE_FILE_BYTES:
                break
    raise BadRequest(f"{field}: the form has no such file")


async def _until_end(events: _FormEvents) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the current field. Raises BadRequest.

    Then read the rest of the body. Some clients read the response only after they have sent everything.
    """
    async for event in events:
        if event is None:
            break
        if isinstance(event, bytes):
            yield event
    else:
        raise BadRequest("the form ends before its file does")
    skipped = 0
    async for event in events:
        skipped += len(event) if isinstance(event, bytes) else 0
        if skipped > BESIDE_FILE_BYTES:
            raise BadRequest("the form has more than one file")
