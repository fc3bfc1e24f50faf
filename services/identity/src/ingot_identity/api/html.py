"""The pages for people: plain HTML without scripts. Every value is escaped here."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a}"
    "h1{font-size:1.4rem}label{display:block;margin:1rem 0 0}"
    "input{box-sizing:border-box;width:100%;padding:.5rem;font:inherit}"
    "button{margin:1.2rem .5rem 0 0;padding:.5rem 1rem;font:inherit}"
    ".problem{color:#a00000}code{word-break:break-all}"
)
STYLE_SOURCE = f"'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
"""What a Content-Security-Policy says to allow the style of these pages."""


def sign_in_page(
    *, action: str, hidden: Mapping[str, str], application: str = "", name: str = "", problem: str = ""
) -> str:
    """``application`` is the name of the one that asks."""
    purpose = f"<p>to go on to <strong>{escape(application)}</strong></p>" if application else ""
    return _page(
        "Sign in",
        f"{purpose}{_problem(problem)}"
        f'<form method="post" action="{escape(action)}">{_hidden(hidden)}'
        '<label for="username">User name or e-mail address</label>'
        f'<input id="username" name="username" value="{escape(name)}" autocomplete="username" autofocus required>'
        '<label for="password">Password</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required>'
        "<button>Sign in</button></form>",
    )


def code_page(*, action: str, hidden: Mapping[str, str], problem: str = "") -> str:
    """After the password."""
    return _page(
        "Two-factor authentication",
        f"<p>Give the code that your app shows, or a recovery code.</p>{_problem(problem)}"
        f'<form method="post" action="{escape(action)}">{_hidden(hidden)}'
        '<label for="code">Code</label>'
        '<input id="code" name="code" autocomplete="one-time-code" autocapitalize="off" autofocus required>'
        "<button>Sign in</button></form>",
    )


def consent_page(
    *,
    application: str,
    owner: str,
    login: str,
    wishes: Sequence[str],
    goes_to: str,
    action: str,
    sign_out: str,
    hidden: Mapping[str, str],
) -> str:
    """``wishes`` are what the application wants to do, in words; ``goes_to`` is where the answer is sent."""
    items = "".join(f"<li>{escape(wish)}</li>" for wish in wishes)
    return _page(
        f"Let {application} use your account?",
        f"<p>You are signed in as <strong>{escape(login)}</strong>. The application "
        f"<strong>{escape(application)}</strong>, registered by {escape(owner)}, wants to:</p><ul>{items}</ul>"
        f"<p>Afterwards you return to <code>{escape(goes_to)}</code>.</p>"
        f'<form method="post" action="{escape(action)}">{_hidden(hidden)}'
        '<button name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Do not allow</button></form>'
        f'<form method="post" action="{escape(sign_out)}">{_hidden(hidden)}'
        "<button>Sign in as somebody else</button></form>",
    )


def signed_in_page(*, login: str, action: str, hidden: Mapping[str, str]) -> str:
    """With the way out."""
    return _page(
        "You are signed in",
        f"<p>as <strong>{escape(login)}</strong></p>"
        f'<form method="post" action="{escape(action)}">{_hidden(hidden)}<button>Sign out</button></form>',
    )


def refusal_page(reason: str) -> str:
    """Where nobody can be sent on."""
    return _page(
        "This does not work",
        _problem(reason or "The request is not valid."),
    )


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )


def _hidden(fields: Mapping[str, str]) -> str:
    return "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in fields.items()
    )


def _problem(text: str) -> str:
    return f'<p class="problem" role="alert">{escape(text)}</p>' if text else ""
