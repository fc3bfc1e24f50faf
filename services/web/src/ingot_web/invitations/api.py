"""Routes for the page of an invitation link, where the invited person accepts it.

Opening it changes nothing, because mail scanners open links, too.
"""

from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest

PAGE = "/user/invitation"
ENDED = (
    "This invitation is not valid any more. It was used or withdrawn, or it is too old. Ask for a new one."
)


@get(PAGE, policy=anyone(), include_in_schema=False)
async def invitation(request: WebRequest) -> Response[str]:
    """Show an invitation, with a button to accept it, or with the ways to get an account."""
    return await _page(request, request.query_params.get("code", ""))


async def _page(request: WebRequest, code: str, problem: ApiError | None = None) -> Response[str]:
    linked = await request.forge.invitation(code) if code else None
    if linked is None:
        raise NotFound(ENDED)
    return request.render(
        "invitations/invitation.html",
        title="Invitation",
        error=problem,
        invitation=linked,
        code=code,
        register=f"/user/invited?{urlencode({'code': code})}" if linked.may_register else "",
    )


@post(PAGE, policy=anyone(), include_in_schema=False)
async def accept(request: WebRequest) -> Response[Any]:
    """Accept the invitation, and redirect to the page of its team or repository."""
    form: Form = await request.sent_form()
    code = form.text("code")
    try:
        linked = await request.forge.accept_invitation(code)
    except NotFound:
        raise NotFound(ENDED) from None
    except ApiError as error:
        return await _page(request, code, error)
    return request.redirect(linked.path)


routes = [invitation, accept]
