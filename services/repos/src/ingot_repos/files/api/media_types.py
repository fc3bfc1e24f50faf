"""The media types of served files: text, pictures and downloads, never pages."""

import re

SNIFFED = 8000
"""Number of bytes that determine the type of a file."""
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
# Atomic groups: there is only one way to match the text before the element, with any number of comments.
_SVG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?"
    rb"(?>(?:<!--(?>.*?-->)|<!DOCTYPE\s++svg[^>\[]*+>)\s*+)*+<svg[\s>]",
    re.DOTALL,
)


def content_type(start: bytes) -> str:
    """Return the media type of a file by its first bytes. SVG may contain scripts: responses sandbox it."""
    for magic, media_type in _IMAGES:
        if start.startswith(magic):
            return media_type
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    if _SVG.match(start[:SNIFFED]):
        return "image/svg+xml"
    return "application/octet-stream" if b"\0" in start[:SNIFFED] else "text/plain"
