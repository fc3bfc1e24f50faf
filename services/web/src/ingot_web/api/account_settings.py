"""Settings of one's own account: profile, keys, tokens, password, and the browsers in which one is signed in."""

from asyncio import gather
from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.api.request import Form, WebRequest, whole_number
from ingot_web.clients.forge import Forge, at

SHOWN = 50
PROFILE = ("full_name", "description", "location", "website")
GROUPS = {
    "repository": "Repositories and pull requests",
    "issue": "Issues and notifications",
    "user": "Your account",
    "organization": "Organizations and teams",
    "hook": "Webhooks",
    "admin": "Administration of the site",
    "misc": "Anything else",
}
"""What tokens can be for, and its words; each to read or to read and change."""
LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "A year"), ("", "For ever"))


def page(
    request: WebRequest,
    part: str,
    title: str,
    *,
    problem: ApiError | None = None,
    **values: Any,
) -> Response[str]:
    return request.render(
        f"settings/{part}.html",
        title=title,
        part=part,
        error=problem,
        **values,
    )


@get("/user/settings", policy=anyone(), include_in_schema=False)
async def profile(request: WebRequest) -> Response[str]:
    """What others see of the account."""
    request.require_signed_in()
    return await _profile_page(request)


async def _profile_page(
    request: WebRequest, problem: ApiError | None = None, refused: Mapping[str, Any] | None = None
) -> Response[str]:
    """``refused``: the settings of a form that was refused."""
    settings, account = await gather(
        request.forge.get("identity", "/user/settings"), request.forge.get("identity", "/user")
    )
    shown = {**settings, **(refused or {})}
    return page(request, "profile", "Profile", problem=problem, settings=shown, account=account)


@post("/user/settings", policy=anyone(), include_in_schema=False)
async def edit_profile(request: WebRequest) -> Response[Any]:
    """Change it."""
    form = await request.sent_form()
    body = {name: form.text(name) for name in PROFILE} | {"hide_email": form.has("hide_email")}
    try:
        await request.forge.send("PATCH", "identity", "/user/settings", body)
    except ApiError as error:
        return await _profile_page(request, error, body)
    return request.redirect_with_outcome("/user/settings", "saved")


@post("/user/settings/avatar", policy=anyone(), include_in_schema=False)
async def change_avatar(request: WebRequest) -> Response[Any]:
    """Upload a picture, or go back to the drawn one."""
    form = await request.sent_form()
    try:
        await send_avatar(request.forge, "/user/avatar", form)
    except ApiError as error:
        return await _profile_page(request, error)
    return request.redirect_with_outcome("/user/settings", "saved")


async def send_avatar(forge: Forge, path: str, form: Form) -> None:
    """Send the picture of a form to ``path`` of the API, or remove the one that is there. Raises Invalid without either."""
    if form.has("remove"):
        await forge.send("DELETE", "identity", path)
    elif not form.files:
        raise Invalid.field("files", "required", "choose a picture first")
    else:
        await forge.send("POST", "identity", path, {"image": b64encode(form.files[0].content).decode()})


@get("/user/settings/keys", policy=anyone(), include_in_schema=False)
async def keys(request: WebRequest) -> Response[str]:
    """The SSH keys."""
    request.require_signed_in()
    return await _keys_page(request, Form())


async def _keys_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/keys", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    return page(request, "keys", "SSH keys", problem=problem, listing=listing, form=form, pages=pages)


@post("/user/settings/keys", policy=anyone(), include_in_schema=False)
async def change_keys(request: WebRequest) -> Response[Any]:
    """Add a key, or remove one."""
    form = await request.sent_form()
    try:
        if form.has("remove"):
            await request.forge.send("DELETE", "identity", at("user", "keys", form.text("remove")))
        else:
            key = {"title": form.text("title"), "key": form.text("key")}
            await request.forge.send("POST", "identity", "/user/keys", key)
    except ApiError as error:
        return await _keys_page(request, form, error)
    return request.redirect("/user/settings/keys")


@get("/user/settings/gpg_keys", policy=anyone(), include_in_schema=False)
async def gpg_keys(request: WebRequest) -> Response[str]:
    """The OpenPGP keys, by which signatures of commits are verified."""
    request.require_signed_in()
    return await _gpg_keys_page(request, Form())


async def _gpg_keys_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/gpg_keys", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    return page(request, "gpg_keys", "OpenPGP keys", problem=problem, listing=listing, form=form, pages=pages)


@post("/user/settings/gpg_keys", policy=anyone(), include_in_schema=False)
async def change_gpg_keys(request: WebRequest) -> Response[Any]:
    """Add a key, or remove one."""
    form = await request.sent_form()
    try:
        if form.has("remove"):
            await request.forge.send("DELETE", "identity", at("user", "gpg_keys", form.text("remove")))
        else:
            key = {"armored_public_key": form.lines("key")}
            await request.forge.send("POST", "identity", "/user/gpg_keys", key)
    except ApiError as error:
        return await _gpg_keys_page(request, form, error)
    return request.redirect("/user/settings/gpg_keys")


@get("/user/settings/applications", policy=anyone(), include_in_schema=False)
async def tokens(request: WebRequest) -> Response[str]:
    """The access tokens."""
    request.require_signed_in()
    return await _tokens_page(request, Form())


async def _tokens_page(
    request: WebRequest, form: Form, problem: ApiError | None = None, *, secret: str = ""
) -> Response[str]:
    """``secret`` is that of a token that was just made; it is shown this once."""
    path = at("users", request.principal.name, "tokens")
    listing = await request.forge.listing("identity", path, page=request.number, limit=SHOWN)
    return page(
        request,
        "applications",
        "Access tokens",
        problem=problem,
        listing=listing,
        form=form,
        secret=secret,
        groups={
            group: words for group, words in GROUPS.items() if group != "admin" or request.principal.admin
        },
        lifetimes=LIFETIMES,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/user/settings/applications", policy=anyone(), include_in_schema=False)
async def change_tokens(request: WebRequest) -> Response[Any]:
    """Make a token, or delete one."""
    form = await request.sent_form()
    path = at("users", request.principal.name, "tokens")
    try:
        if form.has("remove"):
            await request.forge.send("DELETE", "identity", path + at(form.text("remove")))
            return request.redirect("/user/settings/applications")
        token = await request.forge.send("POST", "identity", path, _new_token(form))
    except ApiError as error:
        return await _tokens_page(request, form, error)
    return await _tokens_page(request, Form(), secret=token["sha1"])


def _new_token(form: Form) -> dict[str, Any]:
    """Raises Invalid: a token never lasts for ever because its days were mistyped."""
    chosen = ((form.text(group), group) for group in GROUPS)
    body: dict[str, Any] = {
        "name": form.text("name"),
        "scopes": [f"{act}:{group}" for act, group in chosen if act in ("read", "write")],
    }
    if not body["scopes"]:
        raise Invalid("choose what the token may do")
    if repositories := form.text("repositories").split():
        body["repositories"] = repositories
    days = whole_number(form.text("days"), 4)
    if days is None and form.text("days"):
        raise Invalid.field("days", "number", "is no number of days")
    if days is not None:
        body["expires_at"] = (now() + timedelta(days=days)).isoformat()
    return body


@get("/user/settings/security", policy=anyone(), include_in_schema=False)
async def sessions(request: WebRequest) -> Response[str]:
    """The browsers in which the caller is signed in, and the password."""
    request.require_signed_in()
    return await _security_page(request)


async def _security_page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/sessions", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    return page(request, "security", "Password and sessions", problem=problem, listing=listing, pages=pages)


@post("/user/settings/password", policy=anyone(), include_in_schema=False)
async def change_password(request: WebRequest) -> Response[Any]:
    """Change the password, which ends every session: the browser is sent to sign in."""
    form = await request.sent_form()
    body = {"old_password": form["old_password"], "new_password": form["new_password"]}
    try:
        if form["new_password"] != form["repeated"]:
            raise Invalid.field("new_password", "repeated", "the new password was typed in two ways")
        await request.forge.send("POST", "identity", "/user/password", body)
    except ApiError as error:
        return await _security_page(request, error)
    return request.redirect("/login")


@post("/user/settings/security", policy=anyone(), include_in_schema=False)
async def end_session(request: WebRequest) -> Response[Any]:
    """Sign out in one of them."""
    form = await request.sent_form()
    try:
        await request.forge.send("DELETE", "identity", at("user", "sessions", form.text("id")))
    except ApiError as error:
        return await _security_page(request, error)
    return request.redirect("/user/settings/security")


routes = [
    profile, edit_profile, change_avatar, keys, change_keys, gpg_keys, change_gpg_keys, tokens, change_tokens, sessions, end_session, change_password,
]  # fmt: skip
