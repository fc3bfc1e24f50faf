"""What a browser shows for an error of the gateway itself, above all while web does not answer. Every value is escaped.

The style sheet is that of web, under an address that does not change. A browser that has none, since web is away, lays the
page out by the few lines of style in it.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

from ingot_chassis.errors import ApiError

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;font:1rem/1.6 system-ui,sans-serif;overflow-wrap:anywhere}"
    ".bar nav,main{padding:.8rem 1.25rem}.narrow{max-width:42rem}"
)
"""Stands before the style sheet, which goes over it."""
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
HEADERS = [
    (b"content-type", b"text/html; charset=utf-8"),
    (
        b"content-security-policy",
        f"default-src 'none'; style-src 'self' 'sha256-{_STYLE_HASH}'; img-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'".encode(),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]
_LOGO = (
    '<svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true"><path d="M7 8h18l4 16H3z" fill="currentColor"/>'
    '<path d="M10 8h12l1.2 5H8.800z" fill="#fff" fill-opacity=".45"/></svg>'
)
_TITLES = {
    403: "You may not do that",
    404: "Not found",
    408: "That took too long",
    413: "That is too large",
    429: "Too many requests",
}
_AWAY = "Not available at the moment"


def error_page(error: ApiError, request_id: str, *, root: str, site_name: str) -> bytes:
    """The page, with what to do. ``root`` is the path of the site, without a slash at its end."""
    title = _AWAY if error.status >= 500 else _TITLES.get(error.status, "That is not possible")
    start, name = escape(root), escape(site_name)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · {name}</title><style>{_STYLE}</style>"
        f'<link rel="stylesheet" href="{start}/-/assets/style.css">'
        f'<link rel="icon" type="image/svg+xml" href="{start}/-/assets/icon.svg"></head>'
        '<body><header class="bar"><nav aria-label="Site">'
        f'<a class="brand" href="{start}/">{_LOGO}{name}</a></nav></header>'
        f'<main id="main" class="wrap"><div class="narrow"><p class="muted">{error.status}</p><h1>{title}</h1>'
        f"<p>{escape(_sentence(error.message))}</p><p>{_advice(error)}</p>"
        f'<p class="muted small">Request <code>{escape(request_id)}</code></p></div></main></body></html>\n'
    ).encode()


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"


def _advice(error: ApiError) -> str:
    """What to do, and when: the seconds that the header ``Retry-After`` names as well."""
    if error.status < 500 and error.status not in (408, 429):
        return "Go back and try it another way."
    seconds = error.headers.get("Retry-After", "")
    wait = f"{escape(seconds)} second{'' if seconds == '1' else 's'}" if seconds else "a moment"
    return f"Wait {wait}, and load this page again. If that does not help, name the request below to the people who run this site."
