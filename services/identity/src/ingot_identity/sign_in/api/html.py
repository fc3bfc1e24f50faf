"""HTML pages in the common frame of all pages. Only pages with passkeys have a script.

Every value is escaped here.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from ingot_contracts.web import Appearance, PageFrame


class Page(NamedTuple):
    """The title of a page, and the HTML below it."""

    title: str
    body: str


class Button(NamedTuple):
    """A button for a provider: its title, its URL, and the URL of its picture, which may be empty."""

    title: str
    address: str
    icon: str


def sign_in_page(
    *,
    action: str,
    hidden: Mapping[str, str],
    application: str = "",
    name: str = "",
    problem: str = "",
    providers: Sequence[Button] = (),
    passkeys: str = "",
    forgot: str = "",
    sign_up: str = "",
) -> Page:
    """Return the form to sign in. ``application`` is the name of the application that requested the sign-in.

    ``passkeys`` is the URL of the page to sign in with a passkey; empty if the site has none. ``forgot`` is
    the page for a forgotten password; empty if the site sends no mail. ``sign_up`` is the page to create an
    account; empty if registration is closed.
    """
    links = "".join(map(_provider_link, providers))
    if passkeys:
        links = f'<a class="button" href="{escape(passkeys)}">Sign in with a passkey</a> {links}'
    others = f'<hr><div class="actions">{links}</div>' if links else ""
    purpose = f"<p>to go on to <strong>{escape(application)}</strong></p>" if application else ""
    return Page(
        "Sign in",
        f"{purpose}{problem_notice(problem)}"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        '<div class="field"><label for="username">User name or e-mail address</label>'
        f'<input id="username" name="username" value="{escape(name)}" '
        'autocomplete="username" autofocus required></div>'
        '<div class="field"><label for="password">Password</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required></div>'
        '<button class="primary">Sign in</button></form>'
        f"{others}"
        f'<p class="muted small">{_without_password(forgot, sign_up)}</p>',
    )


def _without_password(forgot: str, sign_up: str) -> str:
    if sign_up:
        new = f'<a href="{escape(sign_up)}">Create an account</a>'
        lost = f'<a href="{escape(forgot)}">Forgot your password?</a>' if forgot else ""
        return f"{new} {lost or 'Those who run this site set new passwords.'}"
    if not forgot:
        return (
            "No account, or the password is lost? "
            "Those who run this site make accounts, and set new passwords."
        )
    return f'<a href="{escape(forgot)}">Forgot your password?</a> Those who run this site make accounts.'


def code_page(*, action: str, hidden: Mapping[str, str], problem: str = "", passkey: str = "") -> Page:
    """Return the form for the second factor, shown after the password.

    ``passkey`` is the HTML of a button.
    """
    choice = "Use a passkey, or give" if passkey else "Give"
    return Page(
        "Two-factor authentication",
        f"<p>{choice} the code that your app shows, or a recovery code.</p>{problem_notice(problem)}"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        '<div class="field"><label for="code">Code</label>'
        '<input id="code" name="code" autocomplete="one-time-code" '
        'autocapitalize="off" autofocus required></div>'
        f'<button class="primary">Sign in</button>{passkey}</form>'
        '<p class="muted small">Both are lost? Those who run this site can remove the second factor.</p>',
    )


def proof_page(
    *,
    title: str,
    login: str,
    action: str,
    hidden: Mapping[str, str],
    asks_password: bool,
    asks_code: bool,
    problem: str = "",
    passkey: str = "",
) -> Page:
    """Return the form for further proofs after the provider named ``title`` has identified the person.

    ``asks_password``: the account is not linked yet, and its password links it.
    """
    purpose = (
        f"{escape(title)} knows you by an address of the account <strong>{escape(login)}</strong>. "
        "Give its password to link the two. From then on you sign in without it."
        if asks_password
        else "Give the code that your app shows, or a recovery code."
    )
    return Page(
        f"Sign in with {title}",
        f"<p>{purpose}</p>{problem_notice(problem)}"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        f"{_proof_fields(asks_password=asks_password, asks_code=asks_code)}"
        f'<button class="primary">Sign in</button>{passkey}</form>',
    )


def link_page(
    *,
    title: str,
    login: str,
    action: str,
    hidden: Mapping[str, str],
    asks_password: bool,
    asks_code: bool,
    problem: str = "",
    passkey: str = "",
) -> Page:
    """Return the form that an account confirms before it is linked with the provider named ``title``."""
    return Page(
        f"Link with {title}",
        f"<p>Your account there will sign in as <strong>{escape(login)}</strong> here.</p>"
        f"{problem_notice(problem)}"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        f"{_proof_fields(asks_password=asks_password, asks_code=asks_code)}"
        f'<button class="primary">Link accounts</button>{passkey}</form>',
    )


def signed_out_page(address: str) -> Page:
    """Return the page after a sign-out, with a link that ends the session at the provider."""
    return Page(
        "You are signed out",
        f'<p>Your provider ends its session next: <a href="{escape(address)}">go on</a>.</p>',
    )


def _proof_fields(*, asks_password: bool, asks_code: bool) -> str:
    fields = ""
    if asks_password:
        fields += (
            '<div class="field"><label for="password">Password</label><input id="password" name="password" '
            'type="password" autocomplete="current-password" autofocus required></div>'
        )
    if asks_code:
        fields += (
            '<div class="field"><label for="code">Code</label><input id="code" name="code" '
            'autocomplete="one-time-code" autocapitalize="off" required></div>'
        )
    return fields


def _provider_link(button: Button) -> str:
    icon = f'<img src="{escape(button.icon)}" alt="" width="16" height="16"> ' if button.icon else ""
    return f'<a class="button" href="{escape(button.address)}">{icon}Sign in with {escape(button.title)}</a> '


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
) -> Page:
    """Return the form to consent to an application.

    ``wishes`` are descriptions of the requested rights. ``goes_to`` is the redirect URI. ``owner`` is empty
    for a built-in application.
    """
    origin = f"registered by {escape(owner)}" if owner else "known to this server"
    items = "".join(f"<li>{escape(wish)}</li>" for wish in wishes)
    return Page(
        f"Let {application} use your account?",
        f"<p>You are signed in as <strong>{escape(login)}</strong>. The application "
        f"<strong>{escape(application)}</strong>, {origin}, "
        f"wants to:</p><ul>{items}</ul>"
        f"<p>Afterwards you return to <code>{escape(goes_to)}</code>.</p>"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        '<div class="actions"><button class="primary" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Do not allow</button></div></form><hr>'
        f'<form method="post" action="{escape(sign_out)}">{hidden_fields(hidden)}'
        "<button>Sign in as somebody else</button></form>",
    )


def signed_in_page(*, login: str, action: str, hidden: Mapping[str, str]) -> Page:
    """Return the page of a signed-in account, with a button to sign out."""
    return Page(
        "You are signed in",
        f"<p>as <strong>{escape(login)}</strong></p>"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        "<button>Sign out</button></form>",
    )


def refusal_page(reason: str) -> Page:
    """Return a page for errors without a trusted redirect."""
    return Page(
        "This does not work",
        problem_notice(reason or "The request is not valid."),
    )


def confirm_page(
    *,
    login: str,
    action: str,
    hidden: Mapping[str, str],
    asks_password: bool,
    asks_code: bool,
    passkey: str = "",
    problem: str = "",
) -> Page:
    """Return the form that asks a signed-in person for a new proof."""
    button = '<button class="primary">Continue</button>' if asks_password else ""
    otherwise = ""
    if not asks_password and not passkey:
        otherwise = "<p>This account has no password and no passkey. Sign out, and sign in again.</p>"
    return Page(
        "Confirm that it is you",
        f"<p>You are signed in as <strong>{escape(login)}</strong>. The next page can change who gets into "
        f"this account, so it asks again.</p>{problem_notice(problem)}{otherwise}"
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        f"{_proof_fields(asks_password=asks_password, asks_code=asks_code and asks_password)}"
        f"{button}{passkey}</form>",
    )


def document(page: Page, frame: PageFrame, appearance: Appearance) -> str:
    """Return the complete HTML document."""
    main = f"<h1>{escape(page.title)}</h1>{page.body}"
    return frame.document(page.title, main, kind="sign-in", appearance=appearance)


def hidden_fields(fields: Mapping[str, str]) -> str:
    """Return hidden inputs for a form."""
    return "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in fields.items()
    )


def problem_notice(text: str) -> str:
    """Return the reason why a form was rejected as HTML; empty for an empty text."""
    return f'<div class="notice bad" role="alert"><p>{escape(text)}</p></div>' if text else ""
