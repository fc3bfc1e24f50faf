"""The pages of registration: plain HTML. Only the first has a script, for its proof of work.

Every value is escaped here.
"""

from collections.abc import Mapping
from html import escape

from ingot_identity.sign_in.api.html import Page, hidden_fields, problem_notice


def invited_page(
    *, address: str, target: str, action: str, hidden: Mapping[str, str], login: str = "", problem: str = ""
) -> Page:
    """Return the form that makes an account for the address of an invitation."""
    purpose = (
        f"<p>for <strong>{escape(address)}</strong>, which was invited to {escape(target)}. "
        "You accept the invitation on the next page.</p>"
    )
    return Page("Create account", purpose + _form(action, hidden, _account_fields(login), problem))


def address_page(
    *,
    action: str,
    hidden: Mapping[str, str],
    challenge: str,
    script: str,
    address: str = "",
    problem: str = "",
) -> Page:
    """Return the form that asks for the address of a new account."""
    fields = _address_field(address) + _work_fields(challenge, script)
    return Page("Create account", _form(action, hidden, fields, problem, button="Send link"))


def request_page() -> Page:
    """Return the page after the request for a link. It does not depend on the address."""
    return Page(
        "Open your mail",
        "<p>A mail is on its way to this address. It leads to the next step, or says that the address "
        "has an account already.</p>",
    )


def account_page(
    *,
    address: str,
    action: str,
    hidden: Mapping[str, str],
    login: str = "",
    note: str | None = None,
    problem: str = "",
) -> Page:
    """Return the form for the account of a confirmed address. ``note`` None: no administrator is asked."""
    purpose = f"<p>for <strong>{escape(address)}</strong></p>"
    fields = _account_fields(login) + _note_field(note)
    return Page("Create account", purpose + _form(action, hidden, fields, problem))


def waiting_page() -> Page:
    """Return the page after a registration that waits for an administrator."""
    return Page(
        "Wait for approval",
        "<p>Those who run this site look at your registration. You can sign in once they have approved it. "
        "If the site sends mail, you get one.</p>",
    )


def unconfirmed_page(
    *,
    action: str,
    hidden: Mapping[str, str],
    challenge: str,
    script: str,
    address: str = "",
    login: str = "",
    note: str | None = None,
    problem: str = "",
) -> Page:
    """Return the form for an account with its address, which nothing confirms."""
    fields = _account_fields(login) + _address_field(address) + _note_field(note)
    fields += _work_fields(challenge, script)
    return Page("Create account", _form(action, hidden, fields, problem))


def _address_field(address: str) -> str:
    return (
        '<div class="field"><label for="email">E-mail address</label>'
        f'<input id="email" name="email" type="email" value="{escape(address)}" autocomplete="email" '
        "required></div>"
    )


def _note_field(note: str | None) -> str:
    if note is None:
        return ""
    return (
        '<div class="field"><label for="note">Why do you want an account?</label>'
        f'<textarea id="note" name="note" rows="3" maxlength="1000">{escape(note)}</textarea></div>'
    )


def _work_fields(challenge: str, script: str) -> str:
    """Return the fields of the proof of work, and its script; nothing without a challenge."""
    if not challenge:
        return ""
    return (
        f'<input type="hidden" name="challenge" value="{escape(challenge)}">'
        '<input type="hidden" name="work" value="">'
        '<p class="small" data-work-status role="status"></p>'
        "<noscript><p>This form needs JavaScript: the browser does some work, which makes mass registration "
        "expensive. Without it, ask those who run this site for an account.</p></noscript>"
        f'<script type="module" src="{escape(script)}"></script>'
    )


def _account_fields(login: str) -> str:
    return (
        '<div class="field"><label for="username">User name</label>'
        f'<input id="username" name="username" value="{escape(login)}" autocomplete="username" '
        "autofocus required></div>"
    ) + "".join(
        f'<div class="field"><label for="{name}">{label}</label><input id="{name}" name="{name}" '
        'type="password" autocomplete="new-password" required></div>'
        for name, label in (("password", "Password"), ("repeated", "Password again"))
    )


def _form(
    action: str, hidden: Mapping[str, str], fields: str, problem: str, *, button: str = "Create account"
) -> str:
    return (
        f'{problem_notice(problem)}<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        f'{fields}<button class="primary">{escape(button)}</button></form>'
    )
