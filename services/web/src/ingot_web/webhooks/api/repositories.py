"""Routes for webhooks of a repository: list, webhook with deliveries, editing, redelivery."""

from typing import Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_contracts.hooks.webhooks import boxes
from ingot_web.clients.forge import Forge
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SHOWN = 30
TYPES = (
    "gitea",
    "gogs",
    "slack",
    "discord",
    "dingtalk",
    "telegram",
    "msteams",
    "feishu",
    "matrix",
)
CHAT_KEYS = ("channel", "username", "icon_url", "color")
"""Additional configuration of a webhook for Slack. A change of the channel replaces all of it."""
EVENTS = boxes()


@get("/{owner:str}/{repo:str}/settings/hooks", policy=anyone(), include_in_schema=False)
async def hooks(request: WebRequest) -> Response[str]:
    """List the webhooks of a repository."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    return await frame.list_page(
        "webhooks/list.html", "hooks", "hooks", size=SHOWN, tab="settings", title="Webhooks", part="hooks"
    )  # fmt: skip


@get("/{owner:str}/{repo:str}/settings/hooks/new", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new webhook."""
    request.require_signed_in()
    kind = request.query_params.get("type", "")
    return await _new_page(RepositoryFrame(request), Form([("type", kind), ("push", "1"), ("active", "1")]))


async def _new_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    """Return the page of a new webhook with the error of the form, also if hooks is unavailable."""
    try:
        await frame.load(frame.forge.get("hooks", frame.api("hooks"), limit=1))
    except Unavailable:
        if problem is None or frame.repository is None:
            raise
    return _form_page(frame, "New webhook", form, problem, hook=None)


def _form_page(
    frame: RepositoryFrame, title: str, form: Form, problem: ApiError | None, *, hook: Any
) -> Response[str]:
    return frame.render(
        "webhooks/hook_form.html",
        tab="settings",
        title=title,
        heading=title,
        part="hooks",
        error=problem,
        form=form,
        types=TYPES,
        events=EVENTS,
        hook=hook,
    )


@post("/{owner:str}/{repo:str}/settings/hooks/new", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Create a webhook."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        hook = await frame.forge.send("POST", "hooks", frame.api("hooks"), new_hook(form))
    except ApiError as error:
        return await _new_page(frame, form, error)
    return frame.redirect(f"/settings/hooks/{hook['id']}")


def new_hook(form: Form) -> dict[str, Any]:
    """Return the API request for a new webhook. Raises Invalid."""
    return {"type": form.text("type") or "gitea", "active": form.has("active"), **edited_hook(form)}


def edited_hook(form: Form) -> dict[str, Any]:
    """Return the API request for a changed webhook. Empty secrets keep their values. Raises Invalid."""
    events = [event for event, _ in EVENTS if form.has(event)] + form.all("other")
    if not events:
        # The API takes none for pushes.
        raise Invalid.field("events", "required", "choose one at least")
    config = {"url": form.text("url"), "content_type": form.text("content_type") or "json"}
    config |= {key: form.text(key) for key in CHAT_KEYS if key in form}
    if form["secret"] or form.has("unsigned"):
        config["secret"] = form["secret"]
    hook = {"config": config, "events": events, "branch_filter": form.text("branch_filter")}
    if form.text("authorization_header") or form.has("unauthorized"):
        hook["authorization_header"] = form.text("authorization_header")
    return hook


def form_of_hook(hook: Any) -> Form:
    """Return the form of an existing webhook.

    Events without a checkbox are shown by their API names.
    """
    boxes = {event for event, _ in EVENTS}
    return Form(
        [
            ("url", hook["config"]["url"]),
            ("content_type", hook["config"]["content_type"]),
            ("branch_filter", hook["branch_filter"]),
            *((key, hook["config"].get(key, "")) for key in CHAT_KEYS if hook["type"] == "slack"),
            *((event, "1") if event in boxes else ("other", event) for event in hook["events"]),
        ]
    )


@get("/{owner:str}/{repo:str}/settings/hooks/{hook_id:int}", policy=anyone(), include_in_schema=False)
async def show(request: WebRequest, hook_id: int) -> Response[str]:
    """Show a webhook and its deliveries."""
    request.require_signed_in()
    return await _hook_page(RepositoryFrame(request), hook_id)


async def _hook_page(frame: RepositoryFrame, hook_id: int, problem: ApiError | None = None) -> Response[str]:
    """Return the page of a webhook with the error of a form. If hooks is unavailable, show only the error."""
    path = frame.api("hooks", hook_id)
    try:
        hook, deliveries = await frame.load(
            frame.forge.get("hooks", path),
            frame.forge.listing("hooks", f"{path}/deliveries", page=frame.request.number, limit=SHOWN),
        )
    except Unavailable:
        if problem is None or frame.repository is None:
            raise
        hook, deliveries = None, None
    return frame.render(
        "webhooks/hook.html",
        tab="settings",
        title="Webhook",
        part="hooks",
        error=problem,
        hook_id=hook_id,
        hook=hook,
        deliveries=deliveries,
        pages=frame.request.pages_of(deliveries.total if deliveries else 0, SHOWN),
    )


@post("/{owner:str}/{repo:str}/settings/hooks/{hook_id:int}", policy=anyone(), include_in_schema=False)
async def change(request: WebRequest, hook_id: int) -> Response[Any]:
    """Switch a webhook on or off, test it, or delete it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        is_there = await change_hook(frame.forge, frame.api("hooks", hook_id), form.text("do"))
    except ApiError as error:
        return await _hook_page(frame, hook_id, error)
    return frame.redirect(f"/settings/hooks/{hook_id}" if is_there else "/settings/hooks")


async def change_hook(forge: Forge, path: str, action: str) -> bool:
    """Apply ``action`` to the webhook at ``path`` of the API.

    Return True if the webhook still exists. Raises Invalid.
    """
    match action:
        case "delete":
            await forge.send("DELETE", "hooks", path)
            return False
        case "test":
            await forge.send("POST", "hooks", f"{path}/tests")
        case "on" | "off":
            await forge.send("PATCH", "hooks", path, {"active": action == "on"})
        case _:
            raise Invalid.field("do", "unknown", "is delete, test, on or off")
    return True


@get("/{owner:str}/{repo:str}/settings/hooks/{hook_id:int}/edit", policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest, hook_id: int) -> Response[str]:
    """Show the form to edit an existing webhook."""
    request.require_signed_in()
    return await _edit_page(RepositoryFrame(request), hook_id)


async def _edit_page(
    frame: RepositoryFrame, hook_id: int, form: Form | None = None, problem: ApiError | None = None
) -> Response[str]:
    (hook,) = await frame.load(frame.forge.get("hooks", frame.api("hooks", hook_id)))
    return _form_page(frame, "Edit the webhook", form or form_of_hook(hook), problem, hook=hook)


@post("/{owner:str}/{repo:str}/settings/hooks/{hook_id:int}/edit", policy=anyone(), include_in_schema=False)
async def save(request: WebRequest, hook_id: int) -> Response[Any]:
    """Change the URL, the secret or the events of a webhook."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        await frame.forge.send("PATCH", "hooks", frame.api("hooks", hook_id), edited_hook(form))
    except ApiError as error:
        return await _edit_page(frame, hook_id, form, error)
    return frame.redirect(f"/settings/hooks/{hook_id}")


@get(
    "/{owner:str}/{repo:str}/settings/hooks/{hook_id:int}/deliveries/{delivery_id:str}",
    policy=anyone(),
    include_in_schema=False,
)
async def delivery(request: WebRequest, hook_id: int, delivery_id: str) -> Response[str]:
    """Show request and response of a delivery."""
    request.require_signed_in()
    return await _delivery_page(RepositoryFrame(request), hook_id, delivery_id)


async def _delivery_page(
    frame: RepositoryFrame, hook_id: int, delivery_id: str, problem: ApiError | None = None
) -> Response[str]:
    """Return the page of a delivery, with the error of a form.

    If hooks is unavailable, show only the error.
    """
    question = frame.forge.get("hooks", frame.api("hooks", hook_id, "deliveries", delivery_id))
    try:
        (shown,) = await frame.load(question)
    except Unavailable:
        if problem is None or frame.repository is None:
            raise
        shown = None
    return frame.render(
        "webhooks/delivery.html",
        tab="settings",
        title="Delivery",
        part="hooks",
        error=problem,
        hook_id=hook_id,
        delivery=shown,
        payload=payload_of(shown) if shown else "",
    )


def payload_of(delivery: Any) -> str:
    """Return the payload of a delivery in a readable format."""
    return msgspec.json.format(msgspec.json.encode(delivery["request"]["payload"]), indent=2).decode()


@post(
    "/{owner:str}/{repo:str}/settings/hooks/{hook_id:int}/deliveries/{delivery_id:str}",
    policy=anyone(),
    include_in_schema=False,
)
async def redeliver(request: WebRequest, hook_id: int, delivery_id: str) -> Response[Any]:
    """Send a delivery again."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    path = frame.api("hooks", hook_id, "deliveries", delivery_id, "attempts")
    try:
        await frame.forge.send("POST", "hooks", path)
    except ApiError as error:
        return await _delivery_page(frame, hook_id, delivery_id, error)
    return frame.redirect(f"/settings/hooks/{hook_id}/deliveries/{delivery_id}")


routes = [hooks, new, create, show, change, edit, save, delivery, redeliver]
