"""Routes for webhooks of an organization, and of the caller's account."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_web.account_settings.api.profile import page
from ingot_web.clients.forge import ListPage, at
from ingot_web.forms.rules.fields import Form
from ingot_web.organizations.api import OrganizationPages
from ingot_web.pages.api.request import WebRequest
from ingot_web.webhooks.api.repositories import (
    EVENTS,
    SHOWN,
    TYPES,
    change_hook,
    edited_hook,
    form_of_hook,
    new_hook,
    payload_of,
)

HOOKS = ["/org/{org:str}/settings/hooks", "/user/settings/hooks"]
HOOK = [f"{path}/{{hook_id:int}}" for path in HOOKS]
EDIT = [f"{path}/edit" for path in HOOK]
DELIVERY = [f"{path}/deliveries/{{delivery_id:str}}" for path in HOOK]


class _Hooks:
    """The webhooks of the organization in the path, or of the caller, for one request.

    Raises Unauthenticated for an anonymous caller.
    """

    def __init__(self, request: WebRequest) -> None:
        request.require_signed_in()
        self.request, self.forge = request, request.forge
        self._org: str = request.path_params.get("org", "")

    def api(self, *segments: str | int) -> str:
        owner = at("orgs", self._org) if self._org else "/user"
        return f"{owner}/hooks{at(*segments)}"

    @property
    def path(self) -> str:
        """Return the path of the pages of these webhooks."""
        return f"/org{at(self._org)}/settings/hooks" if self._org else "/user/settings/hooks"

    async def render(
        self, part: str, title: str, problem: ApiError | None = None, **values: Any
    ) -> Response[str]:
        values |= {"own": self.request.root + self.path, "contents": part}
        if self._org:
            pages = OrganizationPages(self.request, self._org)
            await pages.load()
            if part == "edit":
                pages.require_owner("its webhooks")
            return pages.render("hooks", title, problem, template="webhooks/organization.html", **values)
        template = "webhooks/account.html"
        return page(self.request, "hooks", title, problem=problem, template=template, heading=title, **values)

    async def list_page(self, form: Form, problem: ApiError | None = None) -> Response[str]:
        """Return the list page with the error of a form. If hooks is unavailable, the list is omitted."""
        try:
            listing = await self.forge.listing("hooks", self.api(), page=self.request.number, limit=SHOWN)
        except Unavailable:
            if problem is None:
                raise
            listing = None
        values = {"listing": listing, "form": form, "types": TYPES, "events": EVENTS}
        pages = self.request.pages_of(listing.total if listing else 0, SHOWN)
        return await self.render("list", "Webhooks", problem, pages=pages, **values)

    async def hook_page(self, hook_id: int, problem: ApiError | None = None) -> Response[str]:
        """Return the page of a webhook with the error of a form.

        If hooks is unavailable, show only the error.
        """
        try:
            hook = await self.forge.get("hooks", self.api(hook_id))
            deliveries = await self._deliveries(hook_id)
        except Unavailable:
            if problem is None:
                raise
            return await self.render("away", "Webhook", problem, hook_id=hook_id)
        pages = self.request.pages_of(deliveries.total if deliveries else 0, SHOWN)
        return await self.render("hook", "Webhook", problem, hook=hook, deliveries=deliveries, pages=pages)

    async def _deliveries(self, hook_id: int) -> ListPage | None:
        """Return a page of deliveries.

        None for members of an organization, because only owners may see them.
        """
        path = self.api(hook_id, "deliveries")
        try:
            return await self.forge.listing("hooks", path, page=self.request.number, limit=SHOWN)
        except Denied:
            return None

    async def delivery_page(
        self, hook_id: int, delivery_id: str, problem: ApiError | None = None
    ) -> Response[str]:
        """Return the page of a delivery, with the error of a form.

        If hooks is unavailable, show only the error.
        """
        try:
            shown = await self.forge.get("hooks", self.api(hook_id, "deliveries", delivery_id))
        except Unavailable:
            if problem is None:
                raise
            return await self.render("away", "Delivery", problem, hook_id=hook_id)
        values = {"hook_id": hook_id, "delivery": shown, "payload": payload_of(shown)}
        return await self.render("delivery", "Delivery", problem, **values)

    async def edit_page(
        self, hook_id: int, form: Form | None = None, problem: ApiError | None = None
    ) -> Response[str]:
        hook = await self.forge.get("hooks", self.api(hook_id))
        values = {"hook": hook, "form": form or form_of_hook(hook), "types": TYPES, "events": EVENTS}
        return await self.render("edit", "Edit the webhook", problem, **values)


@get(HOOKS, policy=anyone(), include_in_schema=False)
async def hooks(request: WebRequest) -> Response[str]:
    """List the webhooks. They receive events of all repositories of their owner."""
    return await _Hooks(request).list_page(Form([("push", "1"), ("active", "1")]))


@post(HOOKS, policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Create a webhook."""
    form, owned = await request.sent_form(), _Hooks(request)
    try:
        hook = await owned.forge.send("POST", "hooks", owned.api(), new_hook(form))
    except ApiError as error:
        return await owned.list_page(form, error)
    return request.redirect(f"{owned.path}/{hook['id']}")


@get(HOOK, policy=anyone(), include_in_schema=False)
async def show(request: WebRequest, hook_id: int) -> Response[str]:
    """Show a webhook and its deliveries."""
    return await _Hooks(request).hook_page(hook_id)


@post(HOOK, policy=anyone(), include_in_schema=False)
async def change(request: WebRequest, hook_id: int) -> Response[Any]:
    """Switch a webhook on or off, test it, or delete it."""
    form, owned = await request.sent_form(), _Hooks(request)
    try:
        is_there = await change_hook(owned.forge, owned.api(hook_id), form.text("do"))
    except ApiError as error:
        return await owned.hook_page(hook_id, error)
    return request.redirect(f"{owned.path}/{hook_id}" if is_there else owned.path)


@get(EDIT, policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest, hook_id: int) -> Response[str]:
    """Show the form to edit an existing webhook."""
    return await _Hooks(request).edit_page(hook_id)


@post(EDIT, policy=anyone(), include_in_schema=False)
async def save(request: WebRequest, hook_id: int) -> Response[Any]:
    """Change the URL, the secret or the events of a webhook."""
    form, owned = await request.sent_form(), _Hooks(request)
    try:
        await owned.forge.send("PATCH", "hooks", owned.api(hook_id), edited_hook(form))
    except ApiError as error:
        return await owned.edit_page(hook_id, form, error)
    return request.redirect(f"{owned.path}/{hook_id}")


@get(DELIVERY, policy=anyone(), include_in_schema=False)
async def delivery(request: WebRequest, hook_id: int, delivery_id: str) -> Response[str]:
    """Show request and response of a delivery."""
    return await _Hooks(request).delivery_page(hook_id, delivery_id)


@post(DELIVERY, policy=anyone(), include_in_schema=False)
async def redeliver(request: WebRequest, hook_id: int, delivery_id: str) -> Response[Any]:
    """Send a delivery again."""
    await request.sent_form()
    owned = _Hooks(request)
    try:
        await owned.forge.send("POST", "hooks", owned.api(hook_id, "deliveries", delivery_id, "attempts"))
    except ApiError as error:
        return await owned.delivery_page(hook_id, delivery_id, error)
    return request.redirect(f"{owned.path}/{hook_id}/deliveries/{delivery_id}")


routes = [hooks, create, show, change, edit, save, delivery, redeliver]
