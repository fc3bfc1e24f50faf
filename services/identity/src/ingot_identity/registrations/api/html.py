"""The pages of registration: plain HTML without scripts. Every value is escaped here."""

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


def _form(action: str, hidden: Mapping[str, str], fields: str, problem: str) -> str:
    return (
        f'{problem_notice(problem)}<form method="post" action="{escape(action)}">{hidden_fields(hidden)}'
        f'{fields}<button class="primary">Create account</button></form>'
    )
