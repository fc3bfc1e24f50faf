"""The second factor in forms: the button for a passkey, and the check of the response."""

from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passkeys import store as passkeys
from ingot_identity.passkeys.rules.ceremonies import Begun, Purpose, browser_of
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.passkey_html import use_button
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules.proofs import (
    SignedChallenge,
    require_code,
    require_passkey,
    require_password_and_code,
)


async def passkey_button(
    request: IdentityRequest, browser: Browser, purpose: Purpose, secret: str, *, account_id: int
) -> str:
    """Return the HTML of a button for the passkeys of an account.

    Empty if the account has none, or passkeys are unavailable. ``secret`` is the secret of the cookie that
    binds the challenge to the browser.
    """
    begun = await _begin(request, purpose, account_id, secret)
    return use_button(begun, browser.root, "Use a passkey") if begun else ""


async def begin_proof(request: IdentityRequest, account_id: int, secret: str) -> Begun | None:
    """Begin a proof with a passkey. Return None if the account has none, or passkeys are unavailable."""
    return await _begin(request, "proof", account_id, secret)


async def _begin(request: IdentityRequest, purpose: Purpose, account_id: int, secret: str) -> Begun | None:
    async with request.db.read() as db:
        rows = await passkeys.list_of(db, account_id)
    ceremonies = request.part(TwoFactorComponents).sign_ins.passkeys
    if not rows or not ceremonies.available:
        return None
    return ceremonies.begin_use(purpose, browser_of(secret), account_id=account_id, rows=rows)


def signed_challenge(form: dict[str, str], secret: str) -> SignedChallenge | None:
    """Return the authenticator's response in a form; None if the form has none."""
    answer = form.get("credential", "")
    return SignedChallenge(form.get("state", ""), answer, browser_of(secret)) if answer else None


async def require_second_factor(
    request: IdentityRequest,
    account: AccountRow,
    form: dict[str, str],
    secret: str,
    *,
    password: str | None = None,
) -> None:
    """Require a passkey or a code of the account, and its ``password`` if it is not None.

    Raises CodeRequired, Invalid, InvalidPasskey, TooManyRequests, Unavailable.
    """
    db, sign_ins, address = request.db, request.part(TwoFactorComponents).sign_ins, client_address()
    challenge, code = signed_challenge(form, secret), form.get("code", "")
    if challenge is not None:
        await require_passkey(
            db, sign_ins, account, challenge, "second_factor", password=password, address=address
        )
    elif password is not None:
        await require_password_and_code(db, sign_ins, account, password, code, address=address)
    else:
        await require_code(db, sign_ins, account, code, address=address)
