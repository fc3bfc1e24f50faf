"""Events of identity and repos: renamed and deleted accounts, deleted repositories."""

from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import UserDeleted, UserEdited
from ingot_contracts.repos.events import FirstLabel, RepositoryCreated, RepositoryDeleted
from ingot_issues.labels.store import repository as labels

from .builders import account, repository


async def test_a_renamed_author_is_shown_with_the_new_name_and_a_deleted_one_as_the_ghost(
    world,
):
    await world.open_issue(as_=3)
    await world.deliver(UserEdited(account=account(3, login="kit"), previous_login="cat"))
    assert (await world.call("GET", "/issues/1")).json()["user"]["login"] == "kit"
    await world.deliver(UserDeleted(user_id=3, login="kit"))
    assert (await world.call("GET", "/issues/1")).json()["user"]["id"] == -1


async def test_a_deleted_repository_is_forgotten_and_not_counted(world):
    await world.open_issue()
    await world.deliver(RepositoryDeleted(repository=repository(), sender=User(id=1, login="ann")))
    assert await world.announcer.step() == 0
    assert await world.payloads("issues.repository.forgotten.v1") == [
        {"type": "issues.repository.forgotten.v1", "repository_id": repository().id}
    ]


async def test_a_deleted_person_is_shown_as_the_ghost(world):
    await world.open_issue(assignees=["bob"])
    await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=3)
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    await world.deliver(UserDeleted(user_id=3, login="cat"))
    assignment, comment = await world.timeline()
    assert (assignment["assignee"]["id"], comment["user"]["id"]) == (-1, -1)


async def test_everything_of_a_deleted_repository_is_deleted(world):
    await world.propose()
    await world.call("POST", "/issues", {"title": "x"})
    await world.deliver(RepositoryDeleted(repository=repository(), sender=User(id=1, login="ann")))
    assert (await world.call("GET", "/issues?state=all")).json() == []
    assert (await world.call("POST", "/issues", {"title": "too late"})).status_code == 404


async def test_a_login_belongs_to_the_account_that_had_it_last(world):
    """The event of the former owner's rename arrives later, or was lost."""
    await world.open_issue(assignees=["bob"])
    await world.deliver(UserEdited(account=account(3, login="bob"), previous_login="cat"))
    await world.open_issue("next", assignees=["bob"])
    listed = await world.call("GET", "/issues?assigned_by=bob")
    assert [issue["number"] for issue in listed.json()] == [2]
    assert (await world.call("GET", "/issues/1")).json()["assignee"]["id"] == 2


async def test_a_new_repository_begins_with_the_labels_that_are_asked_for(world):
    await world.call("POST", "/labels", {"name": "Bug", "color": "#ff0000", "description": "mine"})
    first = [FirstLabel(name="bug", color="ee0701"), FirstLabel(name="wontfix", color="ffffff")]
    sender = User(id=1, login="ann")
    await world.deliver(RepositoryCreated(repository=repository(), sender=sender, labels=first))
    copy = repository(99)
    await world.deliver(RepositoryCreated(repository=copy, sender=sender, labels_of=repository().id))
    shown = (await world.call("GET", "/labels")).json()
    assert [(label["name"], label["description"]) for label in shown] == [("Bug", "mine"), ("wontfix", "")]
    async with world.db.read() as db:
        assert [row.name for row in await labels.list_all(db, 99)] == ["Bug", "wontfix"]
