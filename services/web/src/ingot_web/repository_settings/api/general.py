"""Routes for settings of a repository: description, collaborators, deploy keys, archiving, deletion."""

from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form, require_typed
from ingot_web.pages.api.avatars import send_avatar
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SHOWN = 50
INVITATIONS_PAGE = "invitations"
"""The query parameter for the page of the invitations."""
SHARED = "/{owner:str}/{repo:str}/settings"
LEVELS = (("read", "Read"), ("write", "Read and write"), ("admin", "Administer"))
TEXTS = ("name", "description", "website", "default_branch", "default_merge_style", "default_update_style")
SWITCHES = (
    ("has_issues", "Issues"),
    ("has_pull_requests", "Pull requests"),
    ("has_releases", "Releases"),
    ("has_wiki", "Wiki"),
)
STYLES = (
    ("allow_merge_commits", "Merge commits"),
    ("allow_rebase", "Rebase, then fast-forward"),
    ("allow_rebase_explicit", "Rebase, then merge commit"),
    ("allow_squash_merge", "Squash into one commit"),
    ("allow_fast_forward_only_merge", "Fast-forward only"),
)
MANUAL = (("allow_manual_merge", "By hand: writers say by which commit it was merged"),)
DEFAULT_STYLES = (
    ("merge", "Merge commit"),
    ("rebase", "Rebase, then fast-forward"),
    ("rebase-merge", "Rebase, then merge commit"),
    ("squash", "Squash into one commit"),
    ("fast-forward-only", "Fast-forward only"),
)
MERGES = (
    (
        "autodetect_manual_merge",
        "A pull request counts as merged when all its commits are pushed to the base branch",
    ),
    ("ignore_whitespace_conflicts", "White space alone makes no conflict"),
    ("default_delete_branch_after_merge", "The merge form proposes to delete the branch afterwards"),
)
UPDATES = (
    ("allow_merge_update", "By a merge commit"),
    ("allow_rebase_update", "By a rebase"),
)
DEFAULT_UPDATES = (("merge", "Merge commit"), ("rebase", "Rebase"))
TRACKER = (
    ("enable_time_tracker", "Time spent is counted"),
    ("allow_only_contributors_to_track_time", "Only by writers, authors and assignees"),
    ("enable_issue_dependencies", "Issues can wait for others"),
)


@get("/{owner:str}/{repo:str}/settings", policy=anyone(), include_in_schema=False)
async def general(request: WebRequest) -> Response[str]:
    """Show name, description, features and merge options, with the forms to archive and delete."""
    request.require_signed_in()
    return await _general_page(RepositoryFrame(request))


async def _general_page(
    frame: RepositoryFrame,
    problem: ApiError | None = None,
    refused: Mapping[str, Any] | None = None,
    *,
    typed: str = "",
) -> Response[str]:
    """Return the page of general settings.

    ``refused`` has the settings of a rejected form; ``typed`` is the name typed to delete.
    """
    (migration,) = await load_own(frame, frame.forge.get_if_there("repos", frame.api("migration")))
    return frame.render(
        "repository_settings/general.html",
        migration=migration,
        tab="settings",
        title="Settings",
        part="general",
        error=problem,
        settings={**frame.repository, **(refused or {})},
        typed=typed,
        switches=SWITCHES,
        styles=STYLES,
        manual=MANUAL,
        default_styles=DEFAULT_STYLES,
        merges=MERGES,
        updates=UPDATES,
        default_updates=DEFAULT_UPDATES,
        tracker=TRACKER,
    )


def render_part(
    frame: RepositoryFrame, part: str, title: str, problem: ApiError | None, *, page: str = "", **values: Any
) -> Response[str]:
    """Return a page of settings. Its template is ``page``, by default ``part``.

    ``values`` are passed to ``WebRequest.render``.
    """
    return frame.render(
        f"repository_settings/{page or part}.html",
        tab="settings",
        title=title,
        part=part,
        error=problem,
        **values,
    )


async def load_own(frame: RepositoryFrame, *questions: Any) -> list[Any]:
    """Return the responses to ``questions``. Raises an error unless the caller administers the repository.

    The access is checked by a request for the hooks, which only administrators of the repository may read.
    """
    _, *answers = await frame.load(frame.forge.get("hooks", frame.api("hooks"), limit=1), *questions)
    return answers


@post("/{owner:str}/{repo:str}/settings", policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest) -> Response[Any]:
    """Save the settings in the form."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    # A default that is not changed may be one of the styles that are: then repos chooses another one.
    body: dict[str, Any] = {
        name: form.text(name) for name in TEXTS if name in form and form[name] != form.get(f"{name}_shown")
    }
    if form.has("switches"):
        body |= {name: form.has(name) for name, _ in (*SWITCHES, *STYLES)}
    if form.has("merges"):
        body |= {name: form.has(name) for name, _ in (*MANUAL, *MERGES, *UPDATES)}
        body["internal_tracker"] = {name: form.has(name) for name, _ in TRACKER}
    body |= {
        name: form.has(name) for name in ("private", "template", "archived") if form.has(f"{name}_shown")
    }
    topics = form.text("topics").replace(",", " ").split()
    try:
        if "topics" in form:
            await frame.forge.send("PUT", "repos", frame.api("topics"), {"topics": topics})
        repository = await frame.forge.send("PATCH", "repos", frame.api(), body)
    except ApiError as error:
        return await _general_page(frame, error, body | {"topics": topics} if form.has("switches") else None)
    return request.redirect_with_outcome(f"/{repository['full_name']}/settings", "saved")


@post("/{owner:str}/{repo:str}/settings/avatar", policy=anyone(), include_in_schema=False)
async def change_avatar(request: WebRequest) -> Response[Any]:
    """Upload a picture of the repository, or remove it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        await send_avatar(frame.forge, "repos", frame.api("avatar"), form)
    except ApiError as error:
        return await _general_page(frame, error)
    return frame.redirect("/settings")


@post("/{owner:str}/{repo:str}/settings/delete", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest) -> Response[Any]:
    """Delete the repository, if the form repeats its name."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await load_own(frame)
    try:
        require_typed(form.text("name"), frame.repository["full_name"])
        await frame.forge.send("DELETE", "repos", frame.api())
    except ApiError as error:
        return await _general_page(frame, error, typed=form.text("name"))
    return request.redirect("/")


@get("/{owner:str}/{repo:str}/settings/collaboration", policy=anyone(), include_in_schema=False)
async def collaborators(request: WebRequest) -> Response[str]:
    """List collaborators and their access."""
    request.require_signed_in()
    return await _collaborators_page(RepositoryFrame(request), Form())


async def _collaborators_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None
) -> Response[str]:
    request = frame.request
    listing, invitations = await load_own(
        frame,
        frame.forge.listing("repos", frame.api("collaborators"), page=request.number, limit=SHOWN),
        frame.forge.listing_if_there(
            "repos", frame.api("invitations"), page=request.number_of(INVITATIONS_PAGE), limit=SHOWN
        ),
    )
    return frame.render(
        "repository_settings/collaborators.html",
        tab="settings",
        title="Collaborators",
        part="collaboration",
        error=problem,
        form=form,
        listing=listing,
        levels=LEVELS,
        invitations=invitations,
        invitation_pages=request.pages_of(invitations.total, SHOWN, INVITATIONS_PAGE),
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/{owner:str}/{repo:str}/settings/collaboration", policy=anyone(), include_in_schema=False)
async def change_collaborator(request: WebRequest) -> Response[Any]:
    """Add, change or remove a collaborator; invite a person, or withdraw an invitation."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    path = frame.api("collaborators", form.text("login"))
    try:
        if form.has("withdraw"):
            await frame.forge.send("DELETE", "repos", frame.api("invitations", form.text("withdraw")))
        elif "email" in form:
            body = {name: form.text(name) for name in ("email", "permission")}
            await frame.forge.send("POST", "repos", frame.api("collaborators"), body)
        elif form.has("remove"):
            await frame.forge.send("DELETE", "repos", path)
        else:
            await frame.forge.send("PUT", "repos", path, {"permission": form.text("permission")})
    except ApiError as error:
        return await _collaborators_page(frame, form, error)
    return frame.redirect("/settings/collaboration")


@get("/{owner:str}/{repo:str}/settings/keys", policy=anyone(), include_in_schema=False)
async def keys(request: WebRequest) -> Response[str]:
    """List the deploy keys."""
    request.require_signed_in()
    return await _keys_page(RepositoryFrame(request), Form())


async def _keys_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    (listing,) = await load_own(
        frame, frame.forge.listing("repos", frame.api("keys"), page=frame.request.number, limit=SHOWN)
    )
    return frame.render(
        "repository_settings/deploy_keys.html",
        tab="settings",
        title="Deploy keys",
        part="keys",
        error=problem,
        form=form,
        listing=listing,
        pages=frame.request.pages_of(listing.total, SHOWN),
    )


@post("/{owner:str}/{repo:str}/settings/keys", policy=anyone(), include_in_schema=False)
async def change_keys(request: WebRequest) -> Response[Any]:
    """Add a deploy key, or remove one."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        if form.has("remove"):
            await frame.forge.send("DELETE", "repos", frame.api("keys", form.text("remove")))
        else:
            key = {
                "title": form.text("title"),
                "key": form.text("key"),
                "read_only": not form.has("writable"),
            }
            await frame.forge.send("POST", "repos", frame.api("keys"), key)
    except ApiError as error:
        return await _keys_page(frame, form, error)
    return frame.redirect("/settings/keys")


routes = [general, edit, change_avatar, delete, collaborators, change_collaborator, keys, change_keys]
