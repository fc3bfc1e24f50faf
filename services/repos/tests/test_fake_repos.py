"""``FakeRepos``, the fake for tests of other services, behaves like the internal API: one table of cases for
both."""

import httpx
import msgspec
import pytest

from ingot_contracts.repos.comparisons import ChangedPath, Comparison, DiffCounts
from ingot_contracts.repos.histories import HistoryCommit
from ingot_contracts.repos.repositories import Repository
from ingot_contracts.testing.repos import FakeRepos
from ingot_testing.service import serve

from .world import commit, git, work_tree

HEADS = {"repository_id": "app", "branch": "topic", "number": 1}
COMPARE = {"base_branch": "master", "head_repository_id": "app", "head_branch": "topic", "number": 1}
MERGE = {"number": 1, "base_branch": "master", "head_sha": "tip", "head_repository_id": "app",
         "head_branch": "topic"}  # fmt: skip
UPDATE = {"head_branch": "topic", "head_sha": "tip", "base_repository_id": "app", "base_branch": "master"}
RESOLUTION = {"head_sha": "tip", "base_sha": "base", "files": [{"path": "a.txt", "text": "1"}]}
RESOLVE = {"head_branch": "topic", "base_repository_id": "app", "base_branch": "master",
           "resolution": RESOLUTION}  # fmt: skip

CASES = {
    "a merge rule": ("ann", "GET", "/{app}/merge-rule?branch=master&head={tip}", None),
    "a merge rule for somebody": ("ann", "GET", "/{secret}/merge-rule?branch=master&user={bob}", None),
    "a merge rule of a hidden one": ("cat", "GET", "/{secret}/merge-rule?branch=master", None),
    "a merge rule for no id": ("ann", "GET", "/{app}/merge-rule?branch=master&user=x", None),
    "official reviewers": ("", "POST", "/{secret}/official-reviewers",
                           {"branch": "master", "ids": ["ann", "bob", "cat", "root", 999]}),
    "official reviewers of nothing": ("", "POST", "/999/official-reviewers",
                                      {"branch": "master", "ids": ["ann"]}),
    "too many official reviewers": ("", "POST", "/{app}/official-reviewers", {"ids": [1] * 1001}),
    "watchers": ("", "GET", "/{app}/watchers", None),
    "watchers of nothing": ("", "GET", "/999/watchers", None),
    "teams": ("", "GET", "/{app}/teams", None),
    "teams of nothing": ("", "GET", "/999/teams", None),
    "a merge rule unattended": ("", "GET", "/{secret}/merge-rule?branch=master&unattended=true", None),
    "access of the owner": ("ann", "GET", "/by-name/ann/app/access", None),
    "access in another case": ("ann", "GET", "/by-name/Ann/APP/access", None),
    "access of a reader": ("cat", "GET", "/by-name/ann/app/access", None),
    "access of a collaborator": ("bob", "GET", "/{secret}/access", None),
    "access of nobody": ("", "GET", "/{app}/access", None),
    "access of an administrator": ("root", "GET", "/{secret}/access", None),
    "access of a restricted token": ("restricted", "GET", "/{app}/access", None),
    "access of a token for another repository": ("restricted", "GET", "/{secret}/access", None),
    "access of a stranger": ("cat", "GET", "/{secret}/access", None),
    "access to nothing": ("ann", "GET", "/by-name/ann/nothing/access", None),
    "access by an id that is none": ("ann", "GET", "/0/access", None),
    "access by an id that is too large": ("ann", "GET", "/9223372036854775808/access", None),
    "access by an id that is no number": ("ann", "GET", "/x/access", None),
    "access of a user": ("", "GET", "/{secret}/access?user={ann}", None),
    "access of a user who may not": ("", "GET", "/by-name/ann/secret/access?user={cat}", None),
    "access of a user who is not there": ("", "GET", "/{app}/access?user=999", None),
    "access of what is no user": ("", "GET", "/{app}/access?user=x", None),
    "level": ("", "GET", "/{secret}/level?user={bob}", None),
    "level of an administrator": ("", "GET", "/{secret}/level?user={root}", None),
    "level of a stranger": ("", "GET", "/{secret}/level?user={cat}", None),
    "level of a user who is not there": ("", "GET", "/{app}/level?user=999", None),
    "level for nothing": ("", "GET", "/999/level?user={ann}", None),
    "level of no user": ("", "GET", "/{app}/level", None),
    "branch": ("cat", "GET", "/{app}/branches/topic", None),
    "branch with slashes": ("cat", "GET", "/{app}/branches/a/b", None),
    "no branch": ("cat", "GET", "/{app}/branches/nothing", None),
    "branch of what is private": ("cat", "GET", "/{secret}/branches/master", None),
    "delete": ("ann", "DELETE", "/{app}/branches/topic?tip={tip}", None),
    "delete for a user": ("", "DELETE", "/{app}/branches/topic?tip={tip}&user={ann}", None),
    "delete as a reader": ("cat", "DELETE", "/{app}/branches/topic?tip={tip}", None),
    "delete as nobody": ("", "DELETE", "/{app}/branches/topic?tip={tip}", None),
    "delete what moved": ("ann", "DELETE", "/{app}/branches/topic?tip={base}", None),
    "delete the default branch": ("ann", "DELETE", "/{app}/branches/master?tip={base}", None),
    "delete nothing": ("ann", "DELETE", "/{app}/branches/nothing?tip={tip}", None),
    "delete without a tip": ("ann", "DELETE", "/{app}/branches/topic", None),
    "compare": ("cat", "POST", "/{app}/compare", COMPARE),
    "compare as nobody": ("", "POST", "/{app}/compare", COMPARE),
    "compare what is missing": ("cat", "POST", "/{app}/compare", COMPARE | {"head_branch": "nothing"}),
    "compare what is private": ("cat", "POST", "/{secret}/compare", COMPARE),
    "compare unattended": ("", "POST", "/{secret}/compare?unattended=true", COMPARE | {"head_branch": "no"}),
    "compare without a branch": ("cat", "POST", "/{app}/compare", {"base_branch": "master"}),
    "compare a wrong type": ("cat", "POST", "/{app}/compare", COMPARE | {"number": "x"}),
    "comparisons": ("cat", "POST", "/{app}/comparisons", {
        "base_branch": "master", "heads": [HEADS, HEADS | {"branch": "nothing", "number": 2}],
    }),
    "too many comparisons": ("cat", "POST", "/{app}/comparisons", {
        "base_branch": "master", "heads": [HEADS] * 101,
    }),
    "merge": ("ann", "POST", "/{app}/merge", MERGE),
    "merge as a reader": ("cat", "POST", "/{app}/merge", MERGE),
    "merge for somebody": ("", "POST", "/{app}/merge?user={ann}&restricted=true", MERGE),
    "merge for a reader": ("", "POST", "/{app}/merge?user={cat}", MERGE),
    "merge as nobody": ("", "POST", "/{app}/merge", MERGE),
    "merge what moved": ("ann", "POST", "/{app}/merge", MERGE | {"head_sha": "base"}),
    "merge what was reviewed on another base": ("ann", "POST", "/{app}/merge", MERGE | {"merge_base": "tip"}),
    "merge with a title that is too long": ("ann", "POST", "/{app}/merge", MERGE | {"title": "x" * 9999}),
    "merge without a head": ("ann", "POST", "/{app}/merge", {"number": 1}),
    "update a branch as a reader": ("cat", "POST", "/{app}/update-branch", UPDATE),
    "update a branch that moved": ("ann", "POST", "/{app}/update-branch", UPDATE | {"head_sha": "base"}),
    "conflicts": ("ann", "POST", "/{app}/conflicts", UPDATE),
    "conflicts as a reader": ("cat", "POST", "/{app}/conflicts", UPDATE),
    "conflicts of a branch that moved": ("ann", "POST", "/{app}/conflicts", UPDATE | {"head_sha": "base"}),
    "conflicts with a private one": ("bob", "POST", "/{app}/conflicts", UPDATE | {"base_repository_id": 999}),
    "resolve as a reader": ("cat", "POST", "/{app}/resolutions", RESOLVE),
    "resolve in a branch that moved": ("ann", "POST", "/{app}/resolutions",
                                       RESOLVE | {"resolution": RESOLUTION | {"head_sha": "base"}}),
    "resolve without files": ("ann", "POST", "/{app}/resolutions", RESOLVE | {"resolution": {}}),
    "put the head of a pull request": ("", "PUT", "/{app}/pull-heads/1", {"state": "hidden"}),
    "put the head of a private one": ("", "PUT", "/{secret}/pull-heads/9", {"state": "gone"}),
    "put the head of nothing": ("", "PUT", "/999/pull-heads/1", {"state": "visible"}),
    "put a head in no state": ("", "PUT", "/{app}/pull-heads/1", {"state": "x"}),
    "put a head without a state": ("", "PUT", "/{app}/pull-heads/1", {}),
    "diff": ("cat", "GET", "/{app}/diff?base={base}&head={tip}", None),
    "commits": ("cat", "GET", "/{app}/commits?base={base}&head={tip}", None),
    "no commits on that page": ("cat", "GET", "/{app}/commits?base={base}&head={tip}&offset=1&limit=5", None),
    "commits with changes": ("cat", "GET", "/{app}/commits?base={base}&head={tip}&changes=true", None),
    "commits with verification": ("cat", "GET", "/{app}/commits?base={base}&head={tip}&verification=true",
                                  None),
    "commits of no commit": ("cat", "GET", "/{app}/commits?base={base}&head=x", None),
    "files": ("cat", "GET", "/{app}/files?base={base}&head={tip}", None),
    "files from one on": ("cat", "GET",
                          "/{app}/files?base={base}&head={tip}&skip_to=gone&whitespace=ignore-eol", None),
    "files of what is private": ("cat", "GET", "/{secret}/files?base={base}&head={tip}", None),
    "range-diff": ("cat", "GET", "/{app}/range-diff?old={base}&new={base}&base={base}", None),
    "range-diff of no commit": ("cat", "GET", "/{app}/range-diff?old={base}&new=x", None),
    "range-diff of what is private": ("cat", "GET", "/{secret}/range-diff?old={base}&new={tip}", None),
    "readable": ("cat", "POST", "readable-repositories", {"ids": ["app", "secret", 999]}),
    "readable by the owner": ("ann", "POST", "readable-repositories", {"ids": ["secret", "app", "app"]}),
    "readable with levels": ("bob", "POST", "readable-repositories",
                             {"ids": ["secret", "app"], "with_levels": True}),
    "readable by nobody with levels": ("", "POST", "readable-repositories",
                                       {"ids": ["secret", "app"], "with_levels": True}),
    "readable of a team": ("ann", "POST", "readable-repositories", {"ids": ["app"], "team_id": 999}),
    "states of no commits": ("ann", "POST", "commit-states", {"commits": []}),
    "states of commits without checks": ("ann", "POST", "commit-states",
                                         {"commits": [{"repository_id": 999, "sha": "1" * 40}]}),
    "states of too many commits": ("ann", "POST", "commit-states",
                                   {"commits": [{"repository_id": 999, "sha": "1" * 40}] * 201}),
    "too many readable": ("ann", "POST", "readable-repositories", {"ids": [1] * 1001}),
    "readable without ids": ("ann", "POST", "readable-repositories", {}),
}  # fmt: skip
OF_ITS_OWN = {"merge for somebody", "diff", "merge"}
"""Cases where the fake makes values up: only the shape is compared."""


def people_of(world):
    people = {name: world.user(number, name) for number, name in ((1, "ann"), (2, "bob"), (3, "cat"))}
    return people | {"root": world.user(4, "root", admin=True).but(admin=True), "": world.user(0, "")}


async def two_repositories(world, folder):
    """Ann's repositories app (with a branch ahead of main) and secret, which bob may write to. Ids and tips
    by name."""
    ann = people_of(world)["ann"]
    app, secret = await ann.create("app"), await ann.create("secret", private=True, auto_init=True)
    await ann.call("PUT", "/api/v1/repos/ann/secret/collaborators/bob", {"permission": "write"})
    work = await work_tree(folder)
    base = await commit(work, "a.txt", "one\n")
    async with serve(world.app) as url:
        await git("push", "-q", f"{url}/ann/app.git", "master", "master:a/b", cwd=work, person=ann)
        await git("checkout", "-q", "-b", "topic", cwd=work)
        tip = await commit(work, "b.txt", "two\n", message="topic")
        await git("push", "-q", f"{url}/ann/app.git", "topic", cwd=work, person=ann)
    return {"app": app["id"], "secret": secret["id"], "base": base, "tip": tip}


@pytest.fixture
def arrangement():
    return two_repositories


@pytest.fixture
async def samples(world, questions):
    """Callers by name, and ids and tips by name; see `two_repositories`."""
    people = people_of(world)
    people["restricted"] = people["ann"].but(restricted_to=[world.arranged["app"]])
    return people, {name: person.principal.id for name, person in people.items()} | world.arranged


async def fake_of(samples):
    """The same in tables; the repositories themselves are taken over."""
    people, ids = samples
    fake = FakeRepos()
    for name in ("app", "secret"):
        shown = (await people["ann"].internal("GET", f"{ids[name]}/access")).json()["repository"]
        fake.add(msgspec.convert(shown, Repository), {ids["bob"]: "write"} if name == "secret" else {})
    fake.administrators.add(ids["root"])
    fake.inactive.add(999)
    app = ids["app"]
    fake.branches |= {(app, "topic"): ids["tip"], (app, "a/b"): ids["base"], (app, "master"): ids["base"]}
    fake.comparisons[app, "topic"] = Comparison(
        base_sha=ids["base"],
        head_sha=ids["tip"],
        merge_base=ids["base"],
        mergeable=True,
        commits=1,
        counts=DiffCounts(additions=1, deletions=0, changed_files=1),
    )
    fake.watchers[app] = [ids["ann"]]
    query = f"base={ids['base']}&head={ids['tip']}"
    commits = (
        await people["ann"].internal("GET", f"{app}/commits?{query}&changes=true&verification=true")
    ).json()["commits"]
    fake.commits = msgspec.convert(commits, list[HistoryCommit])
    files = (await people["ann"].internal("GET", f"{app}/files?{query}")).json()["files"]
    fake.files = msgspec.convert(files, list[ChangedPath])
    return fake


def filled(value, ids):
    if isinstance(value, dict):
        return {key: filled(inner, ids) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, ids) for inner in value]
    return ids.get(value, value) if isinstance(value, str) else value


def shape(value):
    """The keys and types of a JSON value; of an error not the fields' texts."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key != "errors"}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


WRITES = [
    name
    for name in CASES
    if name.startswith(("compar", "delete", "merge", "put", "update")) and "rule" not in name
]
"""Each has a world of its own; what only reads shares one."""


async def check_case(world, samples, fake, case):
    person, method, path, body = CASES[case]
    people, ids = samples
    path = path.format(**ids)
    path = f"/internal/repositories{path}" if path.startswith("/") else f"/internal/{path}"
    headers = people[person].headers("issues")
    answers = []
    for app in (fake, world.app):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://repos") as http:
            answers.append(await http.request(method, path, json=filled(body, ids), headers=headers))
    fake, real = answers
    assert (case, real.status_code, real.headers.get("content-type", "").split(";")[0]) == (
        case,
        fake.status_code,
        fake.headers.get("content-type", ""),
    ), real.text
    if "json" not in real.headers.get("content-type", ""):
        return
    if real.is_success and case not in OF_ITS_OWN:
        assert (case, real.json()) == (case, fake.json())
    else:
        assert (case, shape(real.json())) == (case, shape(fake.json()))


@pytest.mark.parametrize("case", WRITES)
async def test_the_fake_answers_a_write_as_the_internal_api_does(world, samples, case):
    await check_case(world, samples, await fake_of(samples), case)


async def test_the_fake_answers_reads_as_the_internal_api_does(world, samples):
    fake = await fake_of(samples)
    for case in (name for name in CASES if name not in WRITES):
        await check_case(world, samples, fake, case)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{app}/access"),
        ("GET", "{app}/level?user={ann}"),
        ("GET", "{app}/branches/topic"),
        ("GET", "{app}/files?base=&head={tip}"),
        ("DELETE", "{app}/branches/topic?tip={tip}"),
        ("PUT", "{app}/pull-heads/1"),
    ],
)
async def test_hooks_may_read_access_levels_and_branches_alone(world, samples, method, path):
    people, ids = samples
    status = 200 if method == "GET" and "files" not in path else 404
    for app in (await fake_of(samples), world.app):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://repos") as http:
            answer = await http.request(
                method, f"/internal/repositories/{path.format(**ids)}", headers=people["ann"].headers("hooks")
            )
        assert answer.status_code == status


async def test_neither_answers_who_is_no_service(world, samples):
    people, ids = samples
    path = f"/internal/repositories/{ids['app']}/access"
    for app in (await fake_of(samples), world.app):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://repos") as http:
            assert (await http.get(path, headers=people["ann"].headers())).status_code == 404


async def test_the_fake_records_calls_and_fails_on_demand():
    fake = FakeRepos()
    fake.failures["merge"] = (409, "the base branch moved meanwhile")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fake), base_url="http://repos") as http:
        answer = await http.post("/internal/repositories/7/merge", json={})
        assert (answer.status_code, answer.json()["message"]) == (409, "the base branch moved meanwhile")
        fake.unavailable = True
        for path in ("/internal/repositories/7/access", "/internal/repositories/by-name/ann/app/access"):
            assert (await http.get(path)).status_code == 503
    assert fake.operations() == ["merge", "access", "access"]
