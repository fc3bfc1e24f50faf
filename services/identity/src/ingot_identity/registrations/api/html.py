"""The pages of registration: plain HTML. Scripts do the proof of work, and create passkeys.

Every value is escaped here.
"""

from collections.abc import Mapping, Sequence
from html import escape

from ingot_identity.passkeys.rules.ceremonies import Begun
from ingot_identity.sign_in.api.html import Page, hidden_fields, problem_notice
from ingot_identity.sign_in.api.passkey_html import registration_button


def invited_page(
    *,
    address: str,
    target: str,
    action: str,
    hidden: Mapping[str, str],
    login: str = "",
    passkey: str = "",
    problem: str = "",
) -> Page:
    """Return the form that creates an account for the address of an invitation.

    ``passkey`` is the HTML of ``passkey_offer``, in all functions of this module.
    """
    purpose = (
        f"<p>for <strong>{escape(address)}</strong>, which was invited to {escape(target)}. "
        "You accept the invitation on the next page.</p>"
    )
    return Page("Create account", purpose + _account_form(action, hidden, login, "", passkey, problem))


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
    passkey: str = "",
    problem: str = "",
) -> Page:
    """Return the form for the account of a confirmed address.

    ``note`` is the text for the administrators; None if the account needs no approval.
    """
    purpose = f"<p>for <strong>{escape(address)}</strong></p>"
    form = _account_form(action, hidden, login, _note_field(note), passkey, problem)
    return Page("Create account", purpose + form)


def registered_page(codes: Sequence[str], address: str) -> Page:
    """Return the page after the registration of an account with a passkey. ``address`` is the next page."""
    return Page(
        "Your account is ready",
        "<p>Your passkey signs you in. A second one on another device keeps you in if the first is lost.</p>"
        f'{_codes(codes)}<p><a class="button primary" href="{escape(address)}">Continue</a></p>',
    )


def waiting_page(codes: Sequence[str] = ()) -> Page:
    """Return the page after a registration that waits for an administrator."""
    return Page(
        "Wait for approval",
        "<p>Those who run this site look at your registration. You can sign in once they have approved it. "
        f"If the site sends mail, you get one.</p>{_codes(codes)}",
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
    passkey: str = "",
    problem: str = "",
) -> Page:
    """Return the form for an account and its address, which is not confirmed."""
    fields = _address_field(address) + _note_field(note) + _work_fields(challenge, script)
    return Page("Create account", _account_form(action, hidden, login, fields, passkey, problem))


def passkey_offer(begun: Begun, root: str) -> str:
    """Return the button to create an account with a passkey instead of a password."""
    hint = "<noscript><p>Without JavaScript, choose a password.</p></noscript>"
    return f"<hr>{registration_button(begun, root, 'Create account with a passkey', hint)}"


def _codes(codes: Sequence[str]) -> str:
    if not codes:
        return ""
    lines = "\n".join(codes)
    return (
        '<div class="notice good" role="status"><p>These are your recovery codes. They are shown only now: '
        "keep them. If your passkeys are lost, a new password and one of these codes sign you in. Each works "
        f"once.</p><pre>{escape(lines)}</pre></div>"
    )


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
    """Return the fields and the script of the proof of work; empty without a challenge."""
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


def _account_form(
    action: str, hidden: Mapping[str, str], login: str, fields: str, passkey: str, problem: str
) -> str:
    """Return the form for an account. ``fields`` are placed between the name and the password."""
    name = (
        '<div class="field"><label for="username">User name</label>'
        f'<input id="username" name="username" value="{escape(login)}" autocomplete="username" '
        "autofocus required></div>"
    )
    return _form(action, hidden, name + fields + _password_fields(), problem, after=passkey)


def _password_fields() -> str:
    return "".join(
        f'<div class="field"><label for="{name}">{label}</label><input id="{name}" name="{name}" '
        'type="password" autocomplete="new-password" required></div>'
        for name, label in (("password", "Password"), ("repeated", "Password again"))
    )


def _form(
    action: str,
    hidden: Mapping[str, str],
    fields: str,
    problem: str,
    *,
    button: str = "Create account",
    after: str = "",
) -> str:
    return (
        f'{problem_notice(problem)}<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        f'{fields}<button class="primary">{escape(button)}</button>{after}</form>'
    )
