"""The pages of recovery: plain HTML without scripts. Every value is escaped here."""

from collections.abc import Mapping
from html import escape

from ingot_identity.sign_in.api.html import Page

UNKNOWN_FORM = "This form is not from this browser, or it is too old. Go back and load the page again."


def confirmation_page(*, login: str, address: str, action: str, hidden: Mapping[str, str]) -> Page:
    """Return the form that confirms an address."""
    return Page(
        "Confirm your address",
        f"<p>Is <strong>{escape(address)}</strong> an address of your account "
        f"<strong>{escape(login)}</strong>?</p>" + _form(action, hidden, "", "Confirm address"),
    )


def _form(action: str, hidden: Mapping[str, str], fields: str, button: str) -> str:
    inputs = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in hidden.items()
    )
    return (
        f'<form method="post" action="{escape(action)}">{inputs}{fields}'
        f'<button class="primary">{escape(button)}</button></form>'
    )
