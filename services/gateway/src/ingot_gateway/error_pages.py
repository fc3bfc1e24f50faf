"""What a browser shows for an error of the gateway itself, above all while web does not answer. Every value is escaped.

The style sheet is that of web; where it is missing, everything can be read.
"""

from html import escape

from ingot_chassis.errors import ApiError

HEADERS = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; style-src 'self'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]
_TITLES = {404: "Not found", 408: "That took too long", 413: "That is too large", 429: "Too many requests"}
_AWAY = "Not available at the moment"
_LATER = "Load this page again in a moment."
_OTHERWISE = "Go back and try it another way."


def error_page(error: ApiError, request_id: str) -> bytes:
    """The page, with what to do."""
    is_away = error.status >= 500 or error.status in (408, 429)
    title = _AWAY if error.status >= 500 else _TITLES.get(error.status, "That is not possible")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="stylesheet" href="/-/assets/style.css"></head><body><main id="main">'
        f'<div class="narrow"><p class="muted">{error.status}</p><h1>{title}</h1><p>{escape(error.message)}</p>'
        f'<p>{_LATER if is_away else _OTHERWISE} <a href="/">To the start</a></p>'
        f'<p class="muted small">Request <code>{escape(request_id)}</code></p></div></main></body></html>\n'
    ).encode()
