"""The credentials in a registration form: a password, or a passkey instead."""

from collections.abc import Mapping

import structlog

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.passkeys.rules.ceremonies import InvalidPasskey, applicant_of
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.registrations.api import html
from ingot_identity.registrations.rules.accounts import PASSKEY_NAME, Credentials, Registered
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.two_factors.components import TwoFactorComponents

log = structlog.get_logger()


def passkey_offer(
    request: IdentityRequest, browser: Browser, code: str, refused: Credentials | None = None
) -> str:
    """Return the button for a passkey instead of a password; empty if the site cannot have passkeys.

    ``code`` is the code of the link. ``refused`` has the credentials of a rejected account: the authenticator
    replaces their passkey.
    """
    ceremonies = request.part(TwoFactorComponents).sign_ins.passkeys
    if not ceremonies.available:
        return ""
    handle = refused.passkey.user_handle if refused is not None and refused.passkey is not None else b""
    applicant = applicant_of(browser.form_secret, code)
    return html.passkey_offer(ceremonies.begin_registration(applicant, handle=handle), browser.root)


async def read_credentials(
    request: IdentityRequest, browser: Browser, form: Mapping[str, str], code: str
) -> Credentials:
    """Return the credentials of a new account.

    A passkey's challenge works once, also if the form is rejected.

    Raises Invalid, InvalidPasskey, Unavailable.
    """
    password, answer = form.get("password", ""), form.get("credential", "")
    if not answer:
        if password != form.get("repeated", ""):
            raise Invalid.field("password", "repeated", "was typed in two ways")
        return Credentials(await request.part(PasswordComponents).checks.passwords.hash(password))
    if password:
        raise Invalid.field("password", "unused", "is not used with a passkey; leave it empty")
    try:
        passkey = await request.part(TwoFactorComponents).sign_ins.passkeys.finish_registration(
            request.db, form.get("state", ""), answer, applicant=applicant_of(browser.form_secret, code)
        )
    except InvalidPasskey as error:
        log.info("passkey refused", reason=error.reason)
        raise
    return Credentials(passkey=passkey)


async def audit_registration(tx: Tx, registered: Registered, via: str) -> None:
    """Record a new account and its passkey in the audit log."""
    row = registered.account
    actor, subject = Actor(row.id, row.login, via=via, address=client_address()), f"user {row.login}"
    await add_entry(tx, actor, "user.register", subject, {"id": row.id, "email": row.email})
    if registered.passkey_id:
        await add_entry(
            tx, actor, "passkey.add", subject, {"id": registered.passkey_id, "name": PASSKEY_NAME}
        )
