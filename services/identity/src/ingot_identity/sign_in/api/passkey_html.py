"""The pages for passkeys. Their script requests a credential from the browser, and sends the form with it."""

from collections.abc import Mapping, Sequence
from html import escape

from ingot_identity.passkeys.rules.ceremonies import Begun
from ingot_identity.passkeys.store import PasskeyRow
from ingot_identity.sign_in.api.html import Page, hidden_fields, problem_notice
from ingot_identity.two_factors.rules.codes import Enrolment

SCRIPT = "/login/passkeys.js"
"""The path of the script, below the root of the site."""
NO_SCRIPT = (
    "<noscript><p>Passkeys need JavaScript, which this browser does not run here. Allow it for this site, "
    "or use a password and a code.</p></noscript>"
)


def use_button(begun: Begun, root: str, text: str, *, primary: bool = False) -> str:
    """Return the button that uses a passkey in a form. Without JavaScript it is hidden."""
    return _button(begun, root, text, "get", primary=primary)


def registration_button(begun: Begun, root: str, text: str, hint: str) -> str:
    """Return the button that creates the passkey of a new account. The script inserts the form's name field.

    ``hint`` is for browsers without JavaScript.
    """
    return _button(begun, root, text, "register", hint=hint)


def passkey_sign_in_page(
    *, action: str, hidden: Mapping[str, str], button: str, sign_in: str, application: str, problem: str = ""
) -> Page:
    """Return the form to sign in with a passkey. ``sign_in`` is the URL of the form for passwords."""
    purpose = f"<p>to go on to <strong>{escape(application)}</strong></p>" if application else ""
    return Page(
        "Sign in with a passkey",
        f"{purpose}<p>Your device or security key asks for its PIN, your finger or your face.</p>"
        f"{problem_notice(problem)}"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}{button}</form>'
        f'<p class="small"><a href="{escape(sign_in)}">Sign in with a password</a></p>',
    )


def passkeys_page(
    *,
    rows: Sequence[PasskeyRow],
    begun: Begun | None,
    root: str,
    action: str,
    token: str,
    recovery_codes: int,
    new_codes: Sequence[str] = (),
    name: str = "",
    problem: str = "",
) -> Page:
    """Return the passkeys of the signed-in account, with forms to add, rename and delete them.

    ``begun`` is None if the site cannot have passkeys.
    """
    body = (
        f'<p><a href="{escape(root)}/user/settings/two_factor">Back to the settings</a></p>'
        "<p>A passkey is on a device or a security key. It replaces the password, or comes after it. "
        "git and programs then need an access token in place of the password.</p>"
        f"{problem_notice(problem)}{_codes(new_codes)}"
    )
    body += "".join(_entry(row, action, token) for row in rows) or "<p>No passkeys yet.</p>"
    if begun is None:
        body += "<p>This site has no https and no host name, so browsers make no passkeys for it.</p>"
    else:
        button = _button(begun, root, "Add a passkey", "create", primary=True)
        body += (
            f'<h2>Add a passkey</h2><form method="post" action="{escape(action)}">'
            f"{hidden_fields({'token': token, 'do': 'add'})}"
            '<div class="field"><label for="name">Name, such as the device that has it</label>'
            f'<input id="name" name="name" maxlength="100" value="{escape(name)}"></div>{button}</form>'
        )
    if rows:
        left = f"{recovery_codes} recovery code{'' if recovery_codes == 1 else 's'} left."
        body += (
            f"<h2>Recovery codes</h2><p>{left} Each replaces a passkey once, after the password.</p>"
            f'<form method="post" action="{escape(action)}">{hidden_fields({"token": token, "do": "codes"})}'
            "<button>Create new recovery codes</button></form>"
        )
    return Page("Passkeys", body)


def enrolment_page(
    *,
    login: str,
    begun: Begun | None,
    root: str,
    passkeys: str,
    action: str,
    token: str,
    enrolment: Enrolment | None,
    problem: str,
) -> Page:
    """Return the page to set up a required second factor.

    ``passkeys`` is the URL of the form for a passkey, and ``begun`` its ceremony. ``enrolment`` is the app
    whose setup has begun.
    """
    body = (
        f"<p>You are signed in as <strong>{escape(login)}</strong>. This site requires a second factor of "
        f"this account. Set one up to continue.</p>{problem_notice(problem)}"
    )
    if begun is not None:
        button = _button(begun, root, "Add a passkey", "create", primary=True)
        body += (
            f'<h2>Passkey</h2><form method="post" action="{escape(passkeys)}">'
            f"{hidden_fields({'token': token, 'do': 'add'})}"
            '<div class="field"><label for="name">Name, such as the device that has it</label>'
            f'<input id="name" name="name" maxlength="100"></div>{button}</form>'
        )
    body += f'<h2>App for codes</h2><form method="post" action="{escape(action)}">'
    if enrolment is None:
        body += f"{hidden_fields({'token': token, 'do': 'begin'})}<button>Set up an app</button></form>"
    else:
        hidden = {"token": token, "do": "confirm", "secret": enrolment.secret, "uri": enrolment.uri}
        body += (
            f"{hidden_fields(hidden)}<p>Write this secret into the app: "
            f"<code>{escape(enrolment.secret)}</code></p>"
            f'<p class="small"><a href="{escape(_app_link(enrolment))}">'
            "Open it in an app on this machine</a></p>"
            '<div class="field"><label for="code">Code that the app shows</label>'
            '<input id="code" name="code" autocomplete="one-time-code" required></div>'
            '<button class="primary">Turn on</button></form>'
        )
    sign_out = f'<form method="post" action="{escape(root)}/login/out">{hidden_fields({"token": token})}'
    return Page("Second factor", f"{body}<hr>{sign_out}<button>Sign out</button></form>")


def enrolled_page(*, codes: Sequence[str], root: str) -> Page:
    """Return the recovery codes after the setup of a required second factor."""
    return Page("Second factor", f'{_codes(codes)}<p><a href="{escape(root)}/">Continue</a></p>')


def _app_link(enrolment: Enrolment) -> str:
    """Return the link that opens the app; empty for a URI of another scheme, which a form may contain."""
    return enrolment.uri if enrolment.uri.startswith("otpauth://") else ""


def _entry(row: PasskeyRow, action: str, token: str) -> str:
    used = f"last used on {row.last_used_at:%Y-%m-%d}" if row.last_used_at else "never used"
    field = f"name-{row.id}"
    hidden = hidden_fields({"token": token, "id": str(row.id)})
    return (
        f"<h2>{escape(row.name)}</h2>"
        f'<p class="muted small">Created on {row.created_at:%Y-%m-%d}, {used}.</p>'
        f'<form method="post" action="{escape(action)}">{hidden}'
        f'<div class="field"><label for="{field}">Name</label>'
        f'<input id="{field}" name="name" maxlength="100" value="{escape(row.name)}"></div>'
        '<div class="actions"><button name="do" value="rename">Rename passkey</button>'
        '<button class="danger" name="do" value="delete">Delete passkey</button></div></form>'
    )


def _codes(codes: Sequence[str]) -> str:
    if not codes:
        return ""
    lines = "\n".join(codes)
    return (
        '<div class="notice good" role="status"><p>These are your recovery codes. Each replaces a passkey '
        f"once, after the password. They are shown only now: keep them.</p><pre>{escape(lines)}</pre></div>"
    )


def _button(
    begun: Begun, root: str, text: str, ceremony: str, *, primary: bool = False, hint: str = NO_SCRIPT
) -> str:
    look = ' class="primary"' if primary else ""
    return (
        f"{hidden_fields({'state': begun.state, 'credential': ''})}"
        f'<button type="button"{look} data-passkey="{ceremony}" data-options="{escape(begun.options)}" '
        f'hidden>{text}</button><p class="small" data-passkey-status role="status"></p>{hint}'
        f'<script type="module" src="{escape(root)}{SCRIPT}"></script>'
    )
