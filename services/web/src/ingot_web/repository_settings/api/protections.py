"""Routes for protection of branches and tags: the rules, and the forms to create, edit and delete a rule."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repository_settings.api.general import SHARED, load_own, render_part


class RuleField(NamedTuple):
    """A field of a rule, with its name in the API. ``kind``: flag, number, people, teams, lines or text."""

    name: str
    kind: str
    label: str
    hint: str = ""


Groups = Mapping[str, Sequence[RuleField]]
PEOPLE_HINT = "User names with commas between them."
TEAMS_HINT = "Teams of the organization that owns the repository, with commas between them."
_BRANCH_FIELDS = {
    "Pushes": (
        RuleField(
            "enable_push", "flag", "Pushes are allowed", "Otherwise all changes come by pull requests."
        ),
        RuleField("enable_push_whitelist", "flag", "Only those below may push"),
        RuleField("push_whitelist_usernames", "people", "People who may push", PEOPLE_HINT),
        RuleField("push_whitelist_teams", "teams", "Teams that may push", TEAMS_HINT),
        RuleField("push_whitelist_deploy_keys", "flag", "Deploy keys that may write may push"),
    ),
    "Pushes by force": (
        RuleField(
            "enable_force_push", "flag", "Pushes by force are allowed", "To those who may push at all."
        ),
        RuleField("enable_force_push_allowlist", "flag", "Only those below may push by force"),
        RuleField("force_push_allowlist_usernames", "people", "People who may push by force", PEOPLE_HINT),
        RuleField("force_push_allowlist_teams", "teams", "Teams that may push by force", TEAMS_HINT),
        RuleField("force_push_allowlist_deploy_keys", "flag", "Deploy keys may push by force"),
    ),
    "Merges": (
        RuleField("enable_merge_whitelist", "flag", "Only those below may merge"),
        RuleField("merge_whitelist_usernames", "people", "People who may merge", PEOPLE_HINT),
        RuleField("merge_whitelist_teams", "teams", "Teams that may merge", TEAMS_HINT),
        RuleField("block_on_outdated_branch", "flag", "No merge of what is behind its base"),
    ),
    "Checks": (
        RuleField("enable_status_check", "flag", "The checks below have to succeed before a merge"),
        RuleField("status_check_contexts", "lines", "Checks", "One a line, such as ci/build or ci/*."),
    ),
    "Reviews": (
        RuleField("required_approvals", "number", "Approvals before a merge"),
        RuleField("enable_approvals_whitelist", "flag", "Only approvals of those below count"),
        RuleField("approvals_whitelist_username", "people", "People whose approvals count", PEOPLE_HINT),
        RuleField("approvals_whitelist_teams", "teams", "Teams whose approvals count", TEAMS_HINT),
        RuleField("block_on_rejected_reviews", "flag", "No merge while somebody asks for changes"),
        RuleField("block_on_official_review_requests", "flag", "No merge while a review is asked for"),
        RuleField("dismiss_stale_approvals", "flag", "An approval ends with the next push"),
        RuleField("ignore_stale_approvals", "flag", "Approvals of older commits do not count"),
    ),
    "Commits and files": (
        RuleField("require_signed_commits", "flag", "Commits have to be signed by a key that is known here"),
        RuleField(
            "protected_file_patterns",
            "text",
            "Files that nobody changes",
            "Patterns with semicolons between them, such as *.lock;deploy/**.",
        ),
        RuleField(
            "unprotected_file_patterns",
            "text",
            "Files that may be pushed although pushes are not allowed",
            "Patterns with semicolons between them.",
        ),
    ),
    "Administrators and exceptions": (
        RuleField("block_admin_merge_override", "flag", "Administrators may not merge in spite of the rule"),
        RuleField("enable_bypass_allowlist", "flag", "Those below may merge in spite of the rule"),
        RuleField("bypass_allowlist_usernames", "people", "People who may", PEOPLE_HINT),
        RuleField("bypass_allowlist_teams", "teams", "Teams that may", TEAMS_HINT),
    ),
    "Order": (
        RuleField(
            "priority", "number", "Priority", "Of several rules for a branch the lowest number counts."
        ),
    ),
}
"""All fields of a branch rule, by subject."""
_TAG_FIELDS = {
    "Who may make, move and delete the tags": (
        RuleField("whitelist_usernames", "people", "People", PEOPLE_HINT),
        RuleField("whitelist_teams", "teams", "Teams", TEAMS_HINT),
    )
}
_NEW_RULE = Form([("enable_push", "1")])


def _names(text: str, separator: str) -> list[str]:
    return [name.strip() for name in text.split(separator) if name.strip()]


def _body_of(form: Form, groups: Groups) -> dict[str, Any]:
    """Return the API request for a form."""
    body: dict[str, Any] = {}
    for field in (field for fields in groups.values() for field in fields):
        match field.kind:
            case "flag":
                body[field.name] = form.has(field.name)
            case "number" if form.text(field.name):
                # What is no number is refused by the API, by the name of the field.
                number = whole_number(form.text(field.name), 9)
                body[field.name] = form.text(field.name) if number is None else number
            case "number" if field.name == "required_approvals":
                body[field.name] = 0
            case "lines":
                # A comma belongs to the name of a check.
                body[field.name] = _names(form.lines(field.name), "\n")
            case "people" | "teams":
                body[field.name] = _names(form.text(field.name), ",")
            case "text":
                body[field.name] = form.text(field.name)
    return body


def _form_of(rule: Any, groups: Groups) -> Form:
    """Return the form of an existing rule.

    Fields that an older release of repos does not send are empty.
    """
    pairs = []
    for field in (field for fields in groups.values() for field in fields):
        value = rule.get(field.name, "")
        if field.kind == "flag":
            value = "1" if value else ""
        elif isinstance(value, list):
            value = ("\n" if field.kind == "lines" else ", ").join(value)
        pairs.append((field.name, str(value)))
    return Form(pairs)


@get(f"{SHARED}/branches", policy=anyone(), include_in_schema=False)
async def rules(request: WebRequest) -> Response[str]:
    """List the rules for branches and for tags."""
    request.require_signed_in()
    return await _list_page(RepositoryFrame(request))


async def _list_page(frame: RepositoryFrame, problem: ApiError | None = None) -> Response[str]:
    branches, tags = await load_own(
        frame,
        frame.forge.get("repos", frame.api("branch_protections")),
        frame.forge.get("repos", frame.api("tag_protections")),
    )
    return render_part(frame, "branches", "Protection", problem, rules=branches, tags=tags)


async def _rule_page(
    frame: RepositoryFrame, kind: str, name: str, form: Form, problem: ApiError | None = None
) -> Response[str]:
    """Return the form of a rule. ``name`` is the name of an existing branch rule, or the id of a tag rule."""
    await load_own(frame)
    words = "rule for tags" if kind == "tag" else "rule for branches"
    title = words.capitalize() if name else f"New {words}"
    faults = Form([(error.field, error.message) for error in problem.errors] if problem else [])
    return render_part(
        frame,
        "branches",
        title,
        problem,
        heading=title,
        page="rule",
        kind=kind,
        rule_name=name,
        form=form,
        faults=faults,
        groups=_TAG_FIELDS if kind == "tag" else _BRANCH_FIELDS,
        action=f"/settings/tags/{name or 'new'}"
        if kind == "tag"
        else f"/settings/branches/edit{_query(name)}",
    )


def _query(name: str) -> str:
    return f"?{urlencode({'rule_name': name})}" if name else ""


@get(f"{SHARED}/branches/edit", policy=anyone(), include_in_schema=False)
async def branch_rule(request: WebRequest) -> Response[str]:
    """Show the form of the branch rule ``rule_name``, or of a new rule."""
    request.require_signed_in()
    frame, name = RepositoryFrame(request), request.query_params.get("rule_name", "")
    if not name:
        return await _rule_page(frame, "branch", "", _NEW_RULE)
    (rule,) = await load_own(frame, frame.forge.get("repos", _branch_path(frame, name)))
    return await _rule_page(frame, "branch", name, _form_of(rule, _BRANCH_FIELDS))


def _branch_path(frame: RepositoryFrame, name: str) -> str:
    return frame.api("branch_protections", name)


@post(f"{SHARED}/branches/edit", policy=anyone(), include_in_schema=False)
async def save_branch_rule(request: WebRequest) -> Response[Any]:
    """Create a branch rule, or change the rule ``rule_name``."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    name, body = request.query_params.get("rule_name", ""), _body_of(form, _BRANCH_FIELDS)
    try:
        if name:
            if "priority" not in body:
                raise Invalid.field("priority", "missing", "a rule that is there has a number")
            await frame.forge.send("PATCH", "repos", _branch_path(frame, name), body)
        else:
            body["rule_name"] = form.text("rule_name")
            await frame.forge.send("POST", "repos", frame.api("branch_protections"), body)
    except ApiError as error:
        return await _rule_page(frame, "branch", name, form, error)
    return frame.redirect("/settings/branches")


@post(f"{SHARED}/branches/delete", policy=anyone(), include_in_schema=False)
async def delete_branch_rule(request: WebRequest) -> Response[Any]:
    """Delete a branch rule."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        await frame.forge.send("DELETE", "repos", _branch_path(frame, form.text("name")))
    except ApiError as error:
        return await _list_page(frame, error)
    return frame.redirect("/settings/branches")


@get(f"{SHARED}/tags", policy=anyone(), include_in_schema=False)
async def tag_rules(request: WebRequest) -> Response[bytes]:
    """Redirect to the branch rules, whose page also lists the tag rules."""
    return RepositoryFrame(request).redirect("/settings/branches#tags")


@get(f"{SHARED}/tags/new", policy=anyone(), include_in_schema=False)
async def new_tag_rule(request: WebRequest) -> Response[str]:
    """Show the form of a new tag rule."""
    request.require_signed_in()
    return await _rule_page(RepositoryFrame(request), "tag", "", Form())


@get(f"{SHARED}/tags/{{rule_id:int}}", policy=anyone(), include_in_schema=False)
async def tag_rule(request: WebRequest, rule_id: int) -> Response[str]:
    """Show the form to edit an existing tag rule."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    (rule,) = await load_own(frame, frame.forge.get("repos", frame.api("tag_protections", rule_id)))
    form = Form([*_form_of(rule, _TAG_FIELDS).items(), ("name_pattern", rule["name_pattern"])])
    return await _rule_page(frame, "tag", str(rule_id), form)


@post([f"{SHARED}/tags/new", f"{SHARED}/tags/{{rule_id:int}}"], policy=anyone(), include_in_schema=False)
async def save_tag_rule(request: WebRequest) -> Response[Any]:
    """Create or change a tag rule."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    rule_id: int | None = request.path_params.get("rule_id")
    body = {"name_pattern": form.text("name_pattern"), **_body_of(form, _TAG_FIELDS)}
    try:
        if rule_id is None:
            await frame.forge.send("POST", "repos", frame.api("tag_protections"), body)
        else:
            await frame.forge.send("PATCH", "repos", frame.api("tag_protections", rule_id), body)
    except ApiError as error:
        return await _rule_page(frame, "tag", "" if rule_id is None else str(rule_id), form, error)
    return frame.redirect("/settings/branches#tags")


@post(f"{SHARED}/tags/delete", policy=anyone(), include_in_schema=False)
async def delete_tag_rule(request: WebRequest) -> Response[Any]:
    """Delete a tag rule."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        await frame.forge.send("DELETE", "repos", frame.api("tag_protections", form.text("name")))
    except ApiError as error:
        return await _list_page(frame, error)
    return frame.redirect("/settings/branches#tags")


routes = [
    rules, branch_rule, save_branch_rule, delete_branch_rule,
    tag_rules, new_tag_rule, tag_rule, save_tag_rule, delete_tag_rule,
]  # fmt: skip
