"""HTML pages for errors of the gateway, for example if web is unavailable, or of a service without pages.

All values are escaped. If web is unavailable, a browser has no style sheet. So the page contains a few lines
of style.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

from ingot_chassis.errors import ApiError
from ingot_contracts.web import PageFrame

_STYLE = (
    ":root{color-scheme:light dark}body{margin:0;font:1rem/1.6 "
    "system-ui,sans-serif;overflow-wrap:anywhere}.bar nav,main,.foot div{padding:.8rem "
    "1.25rem}.narrow{max-width:42rem}.skip:not(:focus){position:absolute;left:-999px}"
)
"""Style in the page. It comes before the style sheet, which overrides it."""
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
_TITLES = {
    401: "Sign in first",
    403: "You may not do that",
    404: "Not found",
    408: "That took too long",
    413: "That is too large",
    429: "Too many requests",
}
_AWAY = "Not available at the moment"


def error_page(error: ApiError, request_id: str, frame: PageFrame, *, sign_in: str = "") -> bytes:
    """Return the page of an error, with advice for the user.

    ``sign_in`` is the URL of the sign-in page; empty if signing in cannot help.
    """
    title = _AWAY if error.status >= 500 else _TITLES.get(error.status, "That is not possible")
    reason = _sentence(error.message)
    said = f"<p>{escape(reason)}</p>" if reason != f"{title}." else ""
    main = (
        f'<div class="narrow"><p class="muted">{error.status}</p><h1>{title}</h1>{said}<p>'
        f'{_advice(error, sign_in)}</p><p class="muted small">Request '
        f"<code>{escape(request_id)}</code></p></div>"
    )
    return frame.document(title, main, head=f"<style>{_STYLE}</style>").encode()


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"


def _advice(error: ApiError, sign_in: str) -> str:
    """Return advice for the user as HTML. It includes the seconds of the header ``Retry-After``."""
    if error.status == 403:
        return "Ask somebody who administers this to let you."
    if error.status in (401, 404):
        may_help = f': <a href="{escape(sign_in)}">sign in</a> to see what is yours' if sign_in else ""
        return f"It may have another name now, or you may not see it{may_help}."
    if error.status < 500 and error.status not in (408, 429):
        return "Go back and try it another way."
    seconds = error.headers.get("Retry-After", "")
    wait = f"{escape(seconds)} second{'' if seconds == '1' else 's'}" if seconds else "a moment"
    return (
        f"Wait {wait}, and load this page again. If that does not help, name the request below to the people "
        "who run this site."
    )
