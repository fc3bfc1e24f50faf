"""Fields in bodies and queries that name objects of others: the response is that for missing objects.

Nothing changes either. The description of the API lists the fields of each operation; for LFS, this file
does. At his own repository and organization, Sam names Ann's private objects, and then missing ones. The test
fails for a field that seems to name an object if this file does not list it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import httpx

from .routes import ROUTES, Route
from .rules import CALLERS, ORGANIZATIONS, REPOSITORIES
from .test_matrix import NOT_OPENED, comparable, in_turn, pages
from .world import ABSENT_ID, BODY, MY_ORGANIZATION, OURS, World

CLOSED, INNER, VAULT = REPOSITORIES[1], REPOSITORIES[4], ORGANIZATIONS[2]
HIDDEN = "hush"
"""All that is made here for Ann to have is called so."""
ABSENT = "void"
NO_COMMIT = "9" * 40
LFS = "/{owner}/{repo}/info/lfs"
LARGE_FILE = b"what only Ann has, and is large"
NO_FILE = "9" * 64
Schemas = Mapping[str, Mapping[str, Any]]
ALSO_NEEDED = {
    "POST /api/v1/repos/{owner}/{repo}/branch_protections": ("rule_name",),
    "POST /api/v1/repos/{owner}/{repo}/pulls/{index}/reviews": ("event",),
}
"""Fields without which nothing is made, though the description lets them be absent."""
PULLS = "POST /api/v1/repos/{owner}/{repo}/pulls"
NEW_EACH_TIME = re.compile(r'(?<="Authorization":")[^"]+|(?<="Lfs-Token":")[^"]+|(?<="expires_at":")[^"]+')
"""Credentials in the actions of LFS."""


class Claim(NamedTuple):
    """Values of ``fields``. A text has the name of the object at ``{}``; a list contains the object."""

    fields: Mapping[str, Any]
    hidden: int | str
    absent: int | str

    def values(self, thing: int | str, schemas: Schemas) -> dict[str, Any] | None:
        """Return values for fields that name the object; None if a field is missing or takes none."""
        values = {}
        for name, text in self.fields.items():
            value = thing if text == "{}" else text.format(thing) if isinstance(text, str) else text
            if name not in schemas:
                return None
            kinds, is_list = kinds_of(schemas[name])
            if ("integer" if isinstance(value, int) else "string") not in kinds:
                return None
            values[name] = [value] if is_list else value
        return values


class Attempt(NamedTuple):
    """``hidden`` names an object of Ann, ``absent`` a missing one. Both are for ``where``: the query or the
    body."""

    route: Route
    where: str
    claim: Claim
    hidden: dict[str, Any]
    absent: dict[str, Any]
    required: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.route.name} {self.where} {self.hidden}"

    @property
    def reads(self) -> bool:
        # A GET with a body may create something, as a release.
        return (self.route.method == "GET" and self.where == "params") or self.route.unaudited == "read"


def kinds_of(schema: Mapping[str, Any]) -> tuple[set[str], bool]:
    """The types that a field takes, and whether it takes a list of them."""
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    lists = [option["items"] for option in options if "items" in option]
    if lists:
        return kinds_of(lists[0])[0], True
    kinds: set[str] = set()
    for option in options:
        named = option.get("type", ())
        kinds |= {named} if isinstance(named, str) else {*named}
    return kinds, False


def claims(world: World) -> list[Claim]:
    """Create Ann's hidden objects. Return every claim that can name them."""
    closed, vault = f"repos/{CLOSED.owner}/{CLOSED.repo}", f"orgs/{VAULT.owner}"
    label = world.do("ann", "POST", f"{closed}/labels", name=f"{HIDDEN}-label", color="#ee0701")["id"]
    milestone = world.do("ann", "POST", f"{closed}/milestones", title=f"{HIDDEN}-milestone")["id"]
    issue = world.things[CLOSED]["index"]
    world.do("ann", "PATCH", f"{closed}/issues/{issue}", title=f"{HIDDEN}-issue")
    world.do("ann", "POST", f"{closed}/branches", new_branch_name=f"{HIDDEN}-branch")
    commit = world.do("ann", "GET", f"{closed}/branches/main")["commit"]["id"]
    team = world.do("ann", "POST", f"{vault}/teams", name=f"{HIDDEN}-team", permission="write")["id"]
    organization = world.do("ann", "GET", vault)["id"]
    inner = world.things[INNER]["index"]

    def named(*names: str, what: str, ids: tuple[int, int] | None = None) -> list[Claim]:
        things: list[tuple[int | str, int | str]] = [(f"{HIDDEN}-{what}", f"{ABSENT}-{what}")]
        if ids:
            things += [ids, (str(ids[0]), str(ids[1]))]
        return [Claim({name: "{}"}, *each) for name in names for each in things]

    teams = [
        *("team_reviewers", "whitelist_teams", "push_whitelist_teams", "force_push_allowlist_teams"),
        *("merge_whitelist_teams", "approvals_whitelist_teams", "bypass_allowlist_teams"),
    ]
    commits = [
        *(
            "sha",
            "ref",
            "target",
            "target_commitish",
            "commit_id",
            "new_commit_id",
            "old_commit_id",
            "branch",
        ),
        *("head_commit_id", "headcommitid"),
    ]
    return [
        *named("labels", what="label", ids=(label, ABSENT_ID)),
        *named("milestone", "milestones", what="milestone", ids=(milestone, ABSENT_ID)),
        *named(*teams, what="team"),
        *(Claim({name: "{}"}, commit, NO_COMMIT) for name in commits),
        *(Claim({name: "{}"}, VAULT.owner, ABSENT) for name in ("owner", "organization", "new_owner",
                                                                "repo_owner")),
        Claim({"owner": VAULT.owner, "team": "{}"}, f"{HIDDEN}-team", f"{ABSENT}-team"),
        Claim({"owner": OURS.owner, "team": "{}"}, f"{HIDDEN}-team", f"{ABSENT}-team"),
        *(Claim({name: "{}"}, organization, ABSENT_ID) for name in ("uid", "priority_owner_id", "starredBy")),
        Claim({"priority_repo_id": "{}"}, str(world.things[CLOSED]["repository_id"]), str(ABSENT_ID)),
        Claim({"team_id": "{}"}, team, ABSENT_ID),
        Claim({"ids": "{}"}, world.things[CLOSED]["rule_id"], ABSENT_ID),
        Claim({"key_id": "{}"}, world.things[CLOSED]["key_id"], ABSENT_ID),
        Claim({"new_owner": OURS.owner, "team_ids": "{}"}, team, ABSENT_ID),
        Claim({"index": issue, "owner": CLOSED.owner, "repo": "{}"}, CLOSED.repo, ABSENT),
        Claim({"index": inner, "owner": "{}", "repo": INNER.repo}, VAULT.owner, ABSENT),
        Claim({"head": f"{CLOSED.owner}:{{}}"}, f"{HIDDEN}-branch", f"{ABSENT}-branch"),
        Claim({"head": "{}:main"}, VAULT.owner, ABSENT),
        Claim({"base": "{}"}, f"{HIDDEN}-branch", f"{ABSENT}-branch"),
        Claim({"repositories": f"{CLOSED.owner}/{{}}"}, CLOSED.repo, ABSENT),
        Claim({"body": f"fixes {CLOSED.owner}/{{}}#{issue}"}, CLOSED.repo, ABSENT),
        Claim({"message": f"fixes {CLOSED.owner}/{{}}#{issue}"}, CLOSED.repo, ABSENT),
        Claim({"text": f"#{issue}", "mode": "gfm", "context": f"{CLOSED.owner}/{{}}"}, CLOSED.repo, ABSENT),
        Claim({"text": f"{CLOSED.owner}/{{}}#{issue}"}, CLOSED.repo, ABSENT),
        Claim({"template": f"{CLOSED.owner}/{{}}"}, CLOSED.repo, ABSENT),
    ]  # fmt: skip


NAMING = re.compile(
    r"(?:^|_)(?:u?id|ids|index|owner|repos?|repository|repositories|org|organization|teams?|milestones?|labels?|sha|oid|commit|"
    r"commitish|context)$"
)
OF_OTHER_KINDS = {
    "aws_access_key_id": "of somebody else's server",
    "issue_labels": "one of the sets of labels that come with Ingot",
    "merge_commit_id": "of a merge outside of Ingot, which is refused",
}
"""Fields that look as if they named something, and why they do not."""


def operations(description: Mapping[str, Any]) -> Iterator[tuple[Route, str, Schemas, tuple[str, ...]]]:
    """A route, ``params`` or ``json``, the fields there, and which must be there."""

    def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" in schema:
            return resolved(description["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
        return schema

    for route in ROUTES:
        operation = description["paths"].get(route.path, {}).get(route.method.lower())
        if operation is None or route.policy == "site" or route.name in NOT_OPENED:
            continue
        parameters = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
        yield route, "params", {one["name"]: one["schema"] for one in parameters}, ()
        content = operation.get("requestBody", {}).get("content", {})
        body = resolved(content.get("application/json", {}).get("schema", {}))
        fields = {name: resolved(schema) for name, schema in body.get("properties", {}).items()}
        yield route, "json", fields, tuple(body.get("required", ()))


def attempts(description: Mapping[str, Any], all_claims: list[Claim]) -> Iterator[Attempt]:
    for route, where, schemas, required in operations(description):
        for claim in all_claims:
            hidden, absent = (claim.values(thing, schemas) for thing in (claim.hidden, claim.absent))
            if hidden is not None and absent is not None:
                yield Attempt(route, where, claim, hidden, absent, required)


async def attempts_of_lfs(world: World, client: httpx.AsyncClient) -> list[Attempt]:
    """Ann has a large file and a lock."""
    ann = world.headers(next(caller for caller in CALLERS if caller.name == "owner"))
    root, oid = f"{CLOSED.owner}/{CLOSED.repo}.git/info/lfs", hashlib.sha256(LARGE_FILE).hexdigest()
    answer = await client.put(f"{root}/objects/{oid}/{len(LARGE_FILE)}", content=LARGE_FILE, headers=ann)
    assert answer.status_code == 200, answer.text
    lock = await client.post(f"{root}/locks", json={"path": "large.bin"}, headers=ann)
    assert lock.status_code == 201, lock.text
    hidden = fields_of_lfs(oid, "large.bin", lock.json()["lock"]["id"])
    absent = fields_of_lfs(NO_FILE, "small.bin", str(ABSENT_ID))
    routes = {route.name: route for route in ROUTES if route.path.startswith(LFS)}
    by_path = {name for name, route in routes.items() if {"oid", "lock_id"} & {*route.placeholders}}
    assert {
        name for name, _, _ in hidden
    } == routes.keys() - by_path  # the others name nothing but their path
    return [
        Attempt(routes[name], where, Claim({}, oid, NO_FILE), said, instead, ())
        for (name, where, said), (_, _, instead) in zip(hidden, absent, strict=True)
    ]


def fields_of_lfs(oid: str, path: str, lock_id: str) -> list[tuple[str, str, dict[str, Any]]]:
    """The operation, ``params`` or ``json``, and the fields that can name a large file, a locked path or a
    lock."""
    large_file = {"oid": oid, "size": len(LARGE_FILE)}
    return [
        (f"GET {LFS}/locks", "params", {"path": path}),
        (f"GET {LFS}/locks", "params", {"id": lock_id}),
        (f"GET {LFS}/locks", "params", {"cursor": lock_id}),
        (f"POST {LFS}/locks", "json", {"path": path}),
        (f"POST {LFS}/locks/verify", "json", {"cursor": lock_id}),
        (f"POST {LFS}/objects/batch", "json", {"operation": "download", "objects": [large_file]}),
        (f"POST {LFS}/objects/batch", "json", {"operation": "upload", "objects": [large_file]}),
        (f"POST {LFS}/verify", "json", large_file),
    ]


def unknown_fields(description: Mapping[str, Any], all_claims: list[Claim]) -> set[str]:
    """Those that look as if they named something, and are in no claim."""
    claimed = {name for claim in all_claims for name in claim.fields}
    names = {
        name
        for _, _, schemas, _ in operations(description)
        for name, schema in schemas.items()
        if NAMING.search(name) and kinds_of(schema)[0] & {"integer", "string"}
    }
    return names - claimed - OF_OTHER_KINDS.keys()


class Sam:
    """Sends attempts as the stranger; every one gets names of its own where it makes something."""

    def __init__(self, world: World, client: httpx.AsyncClient) -> None:
        self._world, self._client, self._count = world, client, 0
        self.leaks: list[str] = []
        """Answers with a name that only Ann may see, and that the request did not have."""
        by_name = {caller.name: world.headers(caller) for caller in CALLERS}
        self._headers = by_name["stranger"]
        self._by_password = by_name["stranger by password"]

    async def send(self, one: Attempt, said: dict[str, Any]) -> tuple[Any, ...]:
        """Return the response without the text it repeats from the request.

        It is complete if nothing changes or if all is rejected.
        """
        self._count += 1
        route, fresh = one.route, f"fresh{self._count}"
        values: dict[str, Any] = {**BODY, "owner": OURS.owner, "rule_name": "fresh", "name_pattern": "fresh"}
        required = {
            name: fresh if values[name] == "fresh" else values[name]
            for name in (*one.required, *ALSO_NEEDED.get(route.name, ()))
            if name not in said
        }
        if route.name == PULLS and "head" in required:
            required["head"] = await self._branch(fresh)
        target = OURS if route.place == "repository" else MY_ORGANIZATION if route.place else None
        path = self._world.fill(route, target, **({"username": "sam"} if not route.place else {}))
        credential = self._by_password if route.policy in ("own tokens", "by password") else self._headers
        options = {one.where: {**required, **said}} if one.where == "json" else {"params": said}
        answer = await self._client.request(route.method, path, headers=credential, **options)
        status, text, fields = comparable(answer, path)
        text = NEW_EACH_TIME.sub("…", text.replace(fresh, "…"))
        for thing in (one.claim.hidden, one.claim.absent):
            if isinstance(thing, str) or status >= 400:
                text = re.sub(rf"\b{re.escape(str(thing))}\b", "…", text)
        echoes = re.compile("|".join(re.escape(echo) for echo in str(httpx.QueryParams(said)).split("&")))
        headers = [(name, echoes.sub("…", value)) for name, value in fields if name != "content-length"]
        if HIDDEN in f"{text}{headers}":
            self.leaks.append(f"{one.name}: {text}")
        if status >= 400 or one.reads:
            return status, text, headers
        return (status,)

    async def _branch(self, name: str) -> str:
        path = f"api/v1/repos/{OURS.owner}/{OURS.repo}/contents/{name}.md"
        body = {"content": BODY["content"], "branch": "main", "new_branch": name, "message": "Go on"}
        answer = await self._client.post(path, headers=self._headers, json=body)
        assert answer.status_code == 201, answer.text
        return name


async def test_what_is_hidden_is_nothing_in_fields_as_well(world):
    all_claims = claims(world)
    ours = f"repos/{OURS.owner}/{OURS.repo}"
    world.do("sam", "PATCH", ours, template=True)
    wrong: list[str] = []
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        description = (await client.get("api/v1/openapi.json")).json()
        assert unknown_fields(description, all_claims) == set()
        sam = Sam(world, client)

        async def attempt(one: Attempt) -> None:
            absent, hidden = await sam.send(one, one.absent), await sam.send(one, one.hidden)
            if hidden != absent or hidden[0] >= 500:
                wrong.append(f"{one.name}: {hidden}, where nothing is: {absent}")

        tried = [*attempts(description, all_claims), *await attempts_of_lfs(world, client)]
        before = await pages(world, client, (CLOSED, INNER, VAULT))
        await in_turn([partial(attempt, one) for one in tried if one.reads])
        for one in tried:
            if not one.reads:  # what it changes may be seen by others
                await attempt(one)
        after = await pages(world, client, (CLOSED, INNER, VAULT))
    wrong += [
        f"changed: {path}: {before[path]} -> {after[path]}" for path in before if before[path] != after[path]
    ]
    routes = {one.route.name for one in tried}
    print(f"{len(tried)} fields that name what is hidden, of {len(routes)} operations")
    assert len(routes) > 50
    wrong += sam.leaks
    assert not wrong, "\n".join(wrong)
