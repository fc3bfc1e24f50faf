"""Pull requests: opening, editing, and who sees the head."""

import msgspec
import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryDeleted, RepositoryEdited, RepositoryForked
from ingot_contracts.testing.calls import parameter_of

from ..builders import BASE, HEAD, NEXT, comparison, push, repository
from ..world import PULL


async def test_a_pull_request_has_the_declared_shape(world):
    await world.call("POST", "/issues", {"title": "first"})
    pull = await world.propose()
    assert (pull["number"], pull["state"], pull["mergeable"], pull["merged"]) == (2, "open", True, False)
    assert pull["html_url"].endswith("ann/app/pulls/2")
    assert (pull["base"]["ref"], pull["base"]["sha"], pull["base"]["repo"]["id"]) == ("main", BASE, 7)
    assert (pull["head"]["label"], pull["head"]["sha"], pull["head"]["repo_id"]) == ("fix", HEAD, 7)
    assert (await world.call("GET", "/pulls/2", as_=3)).json()["title"] == "Fix"
    assert (await world.call("GET", "/issues/2")).json()["pull_request"] == {
        "merged": False,
        "merged_at": None,
        "draft": False,
        "html_url": pull["html_url"],
    }
    assert (await world.call("GET", "/pulls/1")).status_code == 404
    assert [pull["number"] for pull in (await world.call("GET", "/pulls")).json()] == [2]


def permissions(branch):
    return [name for name, may in branch["repo"]["permissions"].items() if may]


async def test_a_pull_request_says_what_the_caller_may_do_to_its_repositories(world):
    for head, as_ in (("fix", 2), ("dan:fix", 4)):
        await world.propose(head=head, as_=as_)
    everything = ["admin", "push", "pull"]
    for as_, of_base, of_fork in (
        (1, everything, ["pull"]),
        (2, everything[1:], ["pull"]),
        (4, ["pull"], everything),
        (0, ["pull"], ["pull"]),
    ):
        own, forked = [(await world.call("GET", f"/pulls/{number}", as_=as_)).json() for number in (1, 2)]
        assert (permissions(own["base"]), permissions(own["head"])) == (of_base, of_base)
        assert (permissions(forked["base"]), permissions(forked["head"])) == (of_base, of_fork)
    # A page asks once.
    world.repos.calls.clear()
    forked, own = (await world.call("GET", "/pulls", as_=4)).json()
    assert world.repos.operations() == ["access", "readable-repositories"]
    assert [permissions(one["base"]) for one in (own, forked)] == [["pull"], ["pull"]]
    assert (permissions(own["head"]), permissions(forked["head"])) == (["pull"], everything)


async def test_a_pull_request_counts_apart_from_issues(world):
    await world.propose()
    assert await world.open_counts() == (0, 1)
    assert await world.pull_actions() == [("opened", False)]


async def test_a_reader_proposes_from_a_fork_of_their_own_only(world):
    assert (await world.call("POST", "/pulls", PULL, as_=4)).status_code == 403
    pull = await world.propose(as_=4, head="dan:fix")
    assert (pull["head"]["repo_id"], pull["head"]["repo"]["full_name"]) == (8, "dan/app")
    assert (await world.call("POST", "/pulls", PULL | {"head": "dan:other"}, as_=3)).status_code == 403


async def test_the_address_behind_a_fork_is_for_those_who_are_signed_in(world):
    owner = User(id=4, login="dan", email="dan@example.org")
    world.repos.repositories[8] = msgspec.structs.replace(
        repository(8, owner=4, parent=repository()), owner=owner
    )
    await world.propose(as_=4, head="dan:fix")
    for path in ("/pulls", "/pulls/1"):
        shown = [(await world.call("GET", path, as_=reader)).text for reader in (3, 0)]
        assert ["dan@example.org" in text for text in shown] == [True, False]


async def test_a_fork_with_another_name_is_named_by_its_owner(world):
    fork = repository(8, owner=4, parent=repository(), name="mine")
    world.repos.repositories[8] = fork
    await world.deliver(
        RepositoryForked(forkee=repository(), repository=fork, sender=User(id=4, login="dan"))
    )
    await world.call("POST", "/issues", {"title": "so that there is a copy of the account"}, as_=4)
    assert (await world.propose(as_=4, head="dan:fix"))["head"]["repo"]["name"] == "mine"


async def test_a_fork_with_another_name_is_named_by_its_owner_after_a_push_and_an_edit(world):
    fork, without_parent = (
        repository(8, owner=4, parent=repository(), name="mine"),
        repository(8, owner=4, name="mine"),
    )
    world.repos.repositories[8] = fork
    dan = User(id=4, login="dan")
    await world.deliver(RepositoryForked(forkee=repository(), repository=fork, sender=dan))
    await world.deliver(push("refs/heads/fix", repository=without_parent))
    await world.deliver(RepositoryEdited(repository=without_parent, sender=dan))
    await world.call("POST", "/issues", {"title": "so that there is a copy of the account"}, as_=4)
    assert (await world.propose(as_=4, head="dan:fix"))["head"]["repo"]["name"] == "mine"


@pytest.mark.parametrize("spelling", ["dan/mine:fix", "DAN/Mine:fix"])
async def test_a_pull_request_is_found_by_its_branches_and_the_name_of_a_fork(world, spelling):
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), name="mine")
    opened = await world.propose(as_=4, head="dan/mine:fix")
    assert opened["head"]["repo"]["name"] == "mine"
    answer = await world.call("GET", f"/pulls/main/{spelling}", as_=4)
    assert (answer.status_code, answer.json()["number"]) == (200, opened["number"]), answer.text
    own = await world.propose(head="topic")
    answer = await world.call("GET", "/pulls/main/ann/app:topic")
    assert (answer.status_code, answer.json()["number"]) == (200, own["number"]), answer.text
    world.repos.repositories[9] = repository(9, owner=4, name="unrelated")
    for unrelated in ("dan/unrelated:fix", "dan/nothing:fix", "dan/:fix", "/mine:fix"):
        answer = await world.call("GET", f"/pulls/main/{unrelated}", as_=4)
        assert answer.status_code == 404, unrelated


@pytest.mark.parametrize("head", ["cat:fix", "nobody:fix", "dan:fix:more", ":fix", "dan:", "dan/app/x:fix"])
async def test_a_head_that_is_not_there_is_not_found(world, head):
    assert (await world.call("POST", "/pulls", PULL | {"head": head}, as_=1)).status_code == 404


async def test_a_missing_branch_is_not_found(world):
    world.repos.comparison = None
    assert (await world.call("POST", "/pulls", PULL)).status_code == 404


async def test_nothing_to_merge_is_refused(world):
    world.repos.comparison = comparison(commits=0)
    assert (await world.call("POST", "/pulls", PULL)).status_code == 422


async def test_the_same_branches_are_proposed_once_at_a_time(world):
    await world.propose()
    again = await world.call("POST", "/pulls", PULL)
    words = "pull request #1 between these branches is open; go on there, or close it first"
    assert (again.status_code, again.json()["message"]) == (409, words)
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await world.propose())["number"] == 2
    assert (await world.call("PATCH", "/pulls/1", {"state": "open"})).status_code == 409


@pytest.mark.parametrize("fields", [{"empty": True}, {"mirror": True}])
async def test_empty_repositories_and_mirrors_have_no_pull_requests(world, fields):
    world.repos.repositories[7] = repository(**fields)
    assert (await world.call("GET", "/pulls")).status_code == 404


async def test_diff_and_patch_are_text(world):
    await world.propose()
    for form in ("diff", "patch"):
        answer = await world.call("GET", f"/pulls/1.{form}", as_=0)
        assert answer.text == f"{form} {BASE} {HEAD}"
        assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_diff_has_binary_files_when_that_is_asked_for(world):
    pull = await world.propose()
    page = pull["diff_url"].removeprefix("http://127.0.0.1:3000")
    for query in ("", "?binary=false", "?binary=true"):
        answer = await world.call("GET", f"/pulls/1.diff{query}", as_=0)
        text = await world.http.get(f"{page}{query}", headers=world.headers(0))
        assert (answer.status_code, text.status_code, text.text) == (200, 200, answer.text)
    calls = [call for call in world.repos.calls if call.operation == "diff"]
    assert [parameter_of(call, "binary") for call in calls] == ["", "true"], "each is remembered"
    assert (await world.call("GET", "/pulls/1.diff?binary=x")).status_code == 422
    assert (await world.call("GET", "/pulls/1.diff?files=7")).text == f"diff {BASE} {HEAD}"
    for query, part in (
        ("files=7", ("0", "7")), ("files=7&page=3", ("14", "7")), ("files=900&page=2", ("200", "200")),
        ("files=7&page=-3", ("0", "7")),
    ):  # fmt: skip
        assert (await world.call("GET", f"/pulls/1.diff?{query}")).status_code == 200
        call = world.repos.calls[-1]
        assert (parameter_of(call, "offset"), parameter_of(call, "files")) == part
    for whitespace, passed_on in (("", "show-all"), ("ignore-all", "ignore-all"), ("x", "show-all")):
        assert (await world.call("GET", f"/pulls/1.diff?files=7&whitespace={whitespace}")).status_code == 200
        assert parameter_of(world.repos.calls[-1], "whitespace") == passed_on


async def test_a_private_fork_of_a_public_repository_is_shown_to_its_people_only(world):
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), private=True)
    await world.propose(as_=4, head="dan:fix")
    assert (await world.call("GET", "/pulls/1", as_=4)).json()["head"]["repo"]["private"]
    assert (await world.call("GET", "/pulls/1", as_=3)).json()["head"]["repo"] is None


async def test_a_pull_request_outlives_its_fork(world):
    pull = await world.propose(as_=4, head="dan:fix")
    gone = RepositoryDeleted(repository=repository(8, owner=4), sender=User(id=4, login="dan"))
    await world.deliver(gone)
    shown = (await world.call("GET", "/pulls/1")).json()["head"]
    assert (shown["sha"], shown["repo"]) == (pull["head"]["sha"], None)


async def test_another_base_is_compared_and_announced(world):
    await world.propose()
    world.repos.comparison = comparison(base_sha=NEXT, merge_base=NEXT, mergeable=False)
    answer = await world.call("PATCH", "/pulls/1", {"base": "next", "title": "Other"})
    assert answer.status_code == 201
    pull = answer.json()
    assert (pull["base"]["ref"], pull["base"]["sha"], pull["merge_base"]) == ("next", NEXT, NEXT)
    assert (pull["mergeable"], pull["title"]) == (False, "Other")
    event = (await world.payloads("issues.pull.changed.v1"))[-1]
    assert (event["action"], event["changes"]) == ("edited", {"ref": {"from": "main"}})
    row = (await world.call("GET", "/issues/1/timeline")).json()[-1]
    assert (row["type"], row["old_ref"], row["new_ref"]) == ("change_target_branch", "main", "next")


@pytest.mark.parametrize(
    ("compared", "base", "as_", "status"),
    [
        (None, "nowhere", 1, 404),
        (comparison(commits=0), "next", 1, 422),
        (comparison(), "fix", 1, 422),
        (comparison(), "taken", 1, 409),
        (comparison(), "next", 3, 403),
        (comparison(), "next", 0, 401),
        (comparison(), "main", 1, 201),
        (comparison(), "", 1, 201),
    ],
)
async def test_a_base_that_is_refused_changes_nothing(world, compared, base, as_, status):
    await world.propose()
    await world.propose(base="taken")
    world.repos.comparison = compared
    edit = {"base": base, "title": "Changed"}
    assert (await world.call("PATCH", "/pulls/1", edit, as_=as_)).status_code == status
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["base"]["ref"], pull["title"]) == ("main", "Changed" if status == 201 else "Fix")


async def test_a_closed_pull_request_keeps_its_base(world):
    await world.propose()
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    refused = await world.call("PATCH", "/pulls/1", {"base": "next"})
    assert (refused.status_code, "open it again" in refused.json()["message"]) == (409, True)


async def test_the_base_of_a_plain_issue_is_not_found(world):
    await world.call("POST", "/issues", {"title": "x"})
    assert (await world.call("PATCH", "/pulls/1", {"base": "next"})).status_code == 404


async def test_labels_are_replaced_together_with_the_rest(world):
    label = await world.create_label()
    await world.propose()
    edited = await world.call("PATCH", "/pulls/1", {"labels": [label["id"]], "title": "Other"})
    assert (edited.json()["title"], edited.json()["labels"]) == ("Other", [label])


async def test_a_hidden_head_is_answered_like_a_missing_one(world):
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), private=True)
    hidden = await world.call("POST", "/pulls", PULL | {"head": "dan:fix"}, as_=1)
    none = await world.call("POST", "/pulls", PULL | {"head": "cat:fix"}, as_=1)
    assert (hidden.status_code, hidden.json()) == (none.status_code, none.json()) == (404, none.json())


async def test_a_pull_request_is_read_by_its_branches(world):
    await world.propose(head="fix")
    await world.propose(head="dan:feature/x", as_=4)
    own = await world.call("GET", "/pulls/main/fix")
    by_number = (await world.call("GET", "/pulls/1")).json()
    assert own.json() | {"merge_refusals": []} == by_number
    assert (await world.call("GET", "/pulls/main/dan:feature/x")).json()["number"] == 2
    for unknown in ("main/none", "none/fix", "main/eve:fix", "main/dan:fix"):
        assert (await world.call("GET", f"/pulls/{unknown}")).status_code == 404, unknown


async def test_pull_requests_are_listed_by_base_and_author(world):
    await world.propose(head="fix")
    await world.propose(head="two", base="next", as_=1)
    for query, numbers in {
        "base_branch=next": [2],
        "base_branch=none": [],
        "poster=bob": [1],
        "poster=nobody": [],
    }.items():
        answer = await world.call("GET", f"/pulls?{query}")
        assert [pull["number"] for pull in answer.json()] == numbers, query


async def test_an_edit_of_an_older_text_of_a_pull_request_is_refused(world):
    assert (await world.propose())["content_version"] == 0
    edited = await world.call("PATCH", "/pulls/1", {"body": "two", "content_version": 0})
    assert (edited.status_code, edited.json()["content_version"]) == (201, 1)
    assert (await world.call("PATCH", "/pulls/1", {"body": "x", "content_version": 0})).status_code == 409
