"""The media types under which files are served: those of text, pictures and downloads, never of a page."""

import re

SNIFFED = 8000
"""Bytes of a file that say what it is."""
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
# Atomic groups: there is one way to match what comes before the element, however many comments that are.
_SVG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?"
    rb"(?>(?:<!--(?>.*?-->)|<!DOCTYPE\s++svg[^>\[]*+>)\s*+)*+<svg[\s>]",
    re.DOTALL,
)


def content_type(start: bytes) -> str:
    """That of a file which begins so. A drawing may hold scripts: every answer sandboxes it."""
    for magic, media_type in _IMAGES:
        if start.startswith(magic):
            return media_type
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    if _SVG.match(start[:SNIFFED]):
        return "image/svg+xml"
    return "application/octet-stream" if b"\0" in start[:SNIFFED] else "text/plain"
