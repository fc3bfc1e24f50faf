"""Rights by what an account is: a site administrator who is demoted, and accounts that are deleted."""

from functools import partial

from .rights import (
    PASSWORD,
    Right,
    browser_of,
    collaborator,
    granted_tokens,
    login,
    new_person,
    new_repository,
    pages_of,
    team_with_repository,
    urls_of,
    urls_of_watch,
)
from .rights_of_keys import key_at, ssh_uses


async def removed_collaborator(people):
    """A repository, its owner, somebody else who administers it, and how that ends; so do the next two."""
    return await collaborator(people, "admin")


async def site_administrator(people):
    ann, name = await people.person("ann"), await new_person(people.administrator, "bob")
    edit = partial(people.administrator.patch, f"api/v1/admin/users/{name}")
    assert (await edit(json={"admin": True})).status_code == 200
    bob = await people.connect(auth=(name, PASSWORD))
    return await new_repository(ann), ann, bob, partial(edit, json={"admin": False})


async def deleted_collaborator(people):
    full_name, ann, bob, _ = await collaborator(people, "admin")
    return full_name, ann, bob, await deletion_of(people, bob)


async def deletion_of(people, person, **query):
    url = f"api/v1/admin/users/{await login(person)}"
    return partial(people.administrator.delete, url, params=query)


async def ways_in(people, full_name, owner, person):
    """What somebody opens by password, token and session, and what their SSH key lets them do."""
    name = await login(person)
    new = await person.post(f"api/v1/users/{name}/tokens", json={"name": "t"})
    by_token = await people.connect(headers={"Authorization": f"token {new.json()['sha1']}"})
    administrable = [f"api/v1/repos/{full_name}/hooks", *await urls_of(owner, full_name)]
    opened = [
        (person, [*administrable, *await urls_of_watch(full_name, owner, person)]),
        (by_token, administrable),
        (await browser_of(people, person), pages_of(full_name)),
    ]
    key, _ = await key_at(person, "api/v1/user/keys")
    return opened, await ssh_uses(people, key, full_name)


async def demoted_administrator(people):
    """Their account stays, and so does what everybody may. No application acts as an administrator."""
    full_name, ann, bob, demote = await site_administrator(people)
    opened, uses = await ways_in(people, full_name, ann, bob)
    as_ann = await people.connect(auth=bob.auth, headers={"Sudo": await login(ann)})
    opened += [
        (bob, ["api/v1/admin/users", "api/v1/admin/audit"]),
        (as_ann, ["api/v1/user", f"api/v1/repos/{full_name}"]),
        (await browser_of(people, bob), ["admin/users"]),
    ]
    return Right(opened, demote, ((bob, ["api/v1/user"]),), uses)


async def deleted_account(people):
    full_name, ann, bob, delete = await deleted_collaborator(people)
    return await _account(people, full_name, ann, bob, delete)


async def purged_account(people):
    """Of a member of an organization."""
    ann, bob, full_name, _ = await team_with_repository(people, "admin")
    return await _account(people, full_name, ann, bob, await deletion_of(people, bob, purge=True))


async def _account(people, full_name, owner, person, delete):
    opened, uses = await ways_in(people, full_name, owner, person)
    tokens, refreshes = await granted_tokens(people.connect, owner, await login(person))
    application = await people.connect(headers={"Authorization": f"Bearer {tokens['access_token']}"})
    opened += [(person, ["api/v1/user"]), (application, await urls_of(owner, full_name))]
    others = ((owner, [f"api/v1/repos/{full_name}"]),)
    return Right(opened, delete, others, (*uses, refreshes))


RIGHTS_OF_ACCOUNTS = [demoted_administrator, deleted_account, purged_account]
HOLDERS = [removed_collaborator, site_administrator, deleted_collaborator]
