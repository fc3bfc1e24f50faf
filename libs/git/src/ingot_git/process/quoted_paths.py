"""Quotes file names as git does in text output (git-config(1), core.quotePath)."""

import re

_ESCAPES = {
    bytes([code]): b"\\" + bytes([sign])
    for code, sign in zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True)
}
_SIGNS = {escape: sign for sign, escape in _ESCAPES.items()}
_NOT_PLAIN = re.compile(rb"[^ !#-\[\]-~]")
_ESCAPE = re.compile(rb'\\(?:[abtnvfr"\\]|[0-3][0-7]{2})')


def quoted(path: bytes) -> bytes:
    """Return a file name like git prints it: in quotes, with escapes, if it has special characters."""
    text = _NOT_PLAIN.sub(lambda match: _ESCAPES.get(match[0]) or b"\\%03o" % match[0][0], path)
    return path if text == path else b'"' + text + b'"'


def unquoted(path: bytes) -> bytes:
    """Return the file name of a name that git printed."""
    if len(path) < 2 or not (path.startswith(b'"') and path.endswith(b'"')):
        return path
    return _ESCAPE.sub(lambda match: _SIGNS.get(match[0]) or bytes([int(match[0][1:], 8)]), path[1:-1])
