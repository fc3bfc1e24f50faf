"""Links in a text to its attachments."""

import re

_PLACEHOLDER = "\0"
"""A placeholder for a removed link. No text contains it."""
_LINES_OF_LINKS = re.compile(rf"^[ \t]*(?:{_PLACEHOLDER}[ \t]*)+(?:(?:\r?\n)+|\Z)", re.MULTILINE)


def has_address(text: str, url: str) -> bool:
    """True if ``text`` contains the URL of an attachment, in a link or elsewhere."""
    return re.search(rf"{_in_texts(url)}(?![\w-])", text) is not None


def without_links(text: str, url: str) -> str:
    """Return ``text`` without links to the attachment at ``url``, its pictures, and lines left empty."""
    # A picture that is a link goes first, then what it was in.
    rest = _marked(_marked(text, url), url)
    return _LINES_OF_LINKS.sub("", rest).replace(_PLACEHOLDER, "").rstrip() if rest != text else text


def _in_texts(url: str) -> str:
    """Return a pattern for the URL. It matches any repository, because repositories may be renamed."""
    return re.escape(url[max(url.rfind("/attachments/"), 0) :])


def _marked(text: str, url: str) -> str:
    target = re.compile(rf"""\]\(<?[^\s()<>]*{_in_texts(url)}>?(?:\s+(?:"[^"]*"|'[^']*'))?\)""")
    parts, end = [], 0
    for match in target.finditer(text):
        start = _start_of_link(text, end, match.start())
        if start is not None:
            parts += [text[end:start], _PLACEHOLDER]
            end = match.end()
    return "".join([*parts, text[end:]])


def _start_of_link(text: str, first: int, bracket: int) -> int | None:
    """Return the start of the link whose text ends at ``bracket``, not before ``first``; or None."""
    if _is_escaped(text, bracket):
        return None
    for place in range(bracket - 1, first - 1, -1):
        if text[place] in "[]" and not _is_escaped(text, place):
            is_picture = place > first and text[place - 1] == "!" and not _is_escaped(text, place - 1)
            return None if text[place] == "]" else place - is_picture
    return None


def _is_escaped(text: str, place: int) -> bool:
    before = place - 1
    while before >= 0 and text[before] == "\\":
        before -= 1
    return (place - before) % 2 == 0
