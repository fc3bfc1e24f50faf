"""The response to a new account: its session, its recovery codes, and the next page."""

from typing import Any

from litestar import Response

from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.registrations.api import html
from ingot_identity.registrations.rules.accounts import Registered
from ingot_identity.sign_in.api.browser import Browser
from ingot_identity.sign_in.api.starts import start_session_without_password


async def welcome(
    request: IdentityRequest, browser: Browser, registered: Registered, via: str, target: str
) -> Response[Any]:
    """Start a session. Redirect to ``target``, or show the recovery codes with a link to ``target``."""
    secret = await start_session_without_password(request, browser, registered.account, via)
    cookies = [browser.session_cookie(secret)]
    address = await browser.next_address(registered.account, target)
    if not registered.recovery_codes:
        return browser.redirect(address, cookies=cookies)
    return browser.page(html.registered_page(registered.recovery_codes, address), cookies=cookies)
