"""Names of wiki pages in three forms: title, address and file, with the rules of Gitea.

| form | example | where |
|---|---|---|
| title | ``100% of a-b`` | forms and headings |
| address | ``100%25+of+a-b.-`` | the last segment of URLs, `sub_url` in the API |
| file | ``100%25 of a-b.-.md`` | the git repository |

An address has ``-`` for a space. The address of a title with a ``-`` ends with ``.-`` and has ``+`` for a
space. A slash is always ``%2F``, so a page is a file of the root folder.
"""

import posixpath
from collections.abc import Sequence
from urllib.parse import quote_plus, unquote, unquote_plus

from ingot_chassis.errors import BadRequest

HOME, SIDEBAR, FOOTER = "Home", "_Sidebar", "_Footer"
RESERVED = frozenset(("_pages", "_new", "_edit", "raw"))
"""Titles whose addresses are those of other pages and routes."""
SUFFIX = ".md"
MOST_BYTES = 255
"""Longest name of a file in bytes on common file systems."""
_MARK = ".-"
_UNNAMED = "unnamed"


def address_of_title(title: str) -> str:
    """Return the address for a title that a user typed."""
    return _clean(_escaped(title.strip(), is_marked=False)) or _UNNAMED


def address_of_request(path: str) -> str:
    """Return the address in a request. ``path`` is not decoded; a slash in it is part of the title."""
    return _clean(path).replace("/", "%2F")


def title_of(address: str) -> str:
    """Return the title of an address."""
    return _unescaped(address.rpartition("/")[2].removesuffix(SUFFIX))


def file_of(address: str) -> str:
    """Return the name of the file in which a page with this address is stored."""
    if address.endswith(SUFFIX):
        return _clean(unquote(address))
    escaped = _escaped(_unescaped(address), is_marked=address.endswith(_MARK))
    return _clean(escaped.replace("+", " ")) + SUFFIX


def files_of(address: str) -> Sequence[str]:
    """Return the possible names of a page's file. The first existing file is the page.

    A git push may use any of these names.
    """
    names = (
        address + SUFFIX,
        file_of(address),
        unquote_plus(file_of(address)),
        title_of(address) + SUFFIX,
        address.replace("-", " ") + SUFFIX,
    )
    return [name for name in dict.fromkeys(names) if _clean(name) == name and "/" not in name]


def address_of_file(name: str) -> str | None:
    """Return the address of a file; None if the file is not a page."""
    if not name.endswith(SUFFIX) or "/" in name:
        return None
    stem = name.removesuffix(SUFFIX)
    return _escaped(_unescaped(stem), is_marked=stem.endswith(_MARK)) or None


def require_free_name(address: str) -> None:
    """Raise BadRequest if the address is reserved, or its file name is longer than ``MOST_BYTES`` bytes."""
    if title_of(address) in RESERVED:
        raise BadRequest(f"title: {title_of(address)!r} is reserved")
    if len(file_of(address).encode()) > MOST_BYTES:
        raise BadRequest(f"title: the name of its file is longer than {MOST_BYTES} bytes")


def _escaped(text: str, *, is_marked: bool) -> str:
    if is_marked or "-" in text or text.endswith(SUFFIX):
        text += _MARK
    else:
        text = text.replace(" ", "-")
    return quote_plus(text, safe="", errors="replace")


def _unescaped(segment: str) -> str:
    text = segment.removesuffix(_MARK) if segment.endswith(_MARK) else segment.replace("-", " ")
    return unquote_plus(text)


def _clean(path: str) -> str:
    """Remove empty, ``.`` and ``..`` segments, so no name leads out of its folder."""
    cleaned = posixpath.normpath(f"/{path}").lstrip("/")
    return cleaned if cleaned != "." else ""
