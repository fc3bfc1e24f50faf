"""The pages of recovery: plain HTML without scripts. Every value is escaped here."""

from collections.abc import Mapping
from html import escape

from ingot_identity.sign_in.api.html import Page, hidden_fields, problem_notice


def confirmation_page(*, login: str, address: str, action: str, hidden: Mapping[str, str]) -> Page:
    """Return the form that confirms an address."""
    return Page(
        "Confirm your address",
        f"<p>Is <strong>{escape(address)}</strong> an address of your account "
        f"<strong>{escape(login)}</strong>?</p>" + _form(action, hidden, "", "Confirm address"),
    )


def address_page(*, action: str, hidden: Mapping[str, str], address: str = "", problem: str = "") -> Page:
    """Return the form that asks for the address of an account."""
    field = (
        '<div class="field"><label for="email">Address of your account</label>'
        f'<input id="email" name="email" type="email" value="{escape(address)}" autocomplete="email" '
        "autofocus required></div>"
    )
    return Page("Set a new password", problem_notice(problem) + _form(action, hidden, field, "Send link"))


def request_page() -> Page:
    """Return the page after the request for a link. It does not depend on the address."""
    return Page(
        "Open your mail",
        "<p>If an account has this address, and it is confirmed, it gets a mail with a link. "
        "The link is valid for one hour.</p>",
    )


def password_page(*, login: str, action: str, hidden: Mapping[str, str], problem: str = "") -> Page:
    """Return the form for the new password of an account."""
    fields = "".join(
        f'<div class="field"><label for="{name}">{label}</label><input id="{name}" name="{name}" '
        'type="password" autocomplete="new-password" required></div>'
        for name, label in (("password", "New password"), ("repeated", "New password again"))
    )
    return Page(
        "Set a new password",
        f"<p>for your account <strong>{escape(login)}</strong>. All its sessions end.</p>"
        + problem_notice(problem)
        + _form(action, hidden, fields, "Set password"),
    )


def _form(action: str, hidden: Mapping[str, str], fields: str, button: str) -> str:
    return (
        f'<form method="post" action="{escape(action)}">{hidden_fields(hidden)}{fields}'
        f'<button class="primary">{escape(button)}</button></form>'
    )
