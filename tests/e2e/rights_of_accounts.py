"""Rights by what an account is: a site administrator who is demoted, and accounts that end."""

import secrets
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
    """A repository, its owner, a collaborator who administers it, and how that ends. The next two do the
    same."""
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
    """Return uses by password, token and session, and those of the person's SSH key."""
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


async def leaver_by_scim(people):
    """Of a company whose client of SCIM deactivates the account."""
    full_name, ann, bob, _ = await collaborator(people, "admin")
    return await _account(people, full_name, ann, bob, await deactivation_of(people, bob))


async def deploy_key_of_deleted_account(people):
    full_name, _, bob, delete = await deleted_collaborator(people)
    return await _deploy_key(people, full_name, bob, delete)


async def deploy_key_of_leaver_by_scim(people):
    full_name, _, bob, _ = await collaborator(people, "admin")
    return await _deploy_key(people, full_name, bob, await deactivation_of(people, bob))


async def deploy_key_of_prohibited_account(people):
    full_name, _, bob, _ = await collaborator(people, "admin")
    edit = partial(people.administrator.patch, f"api/v1/admin/users/{await login(bob)}")
    return await _deploy_key(people, full_name, bob, partial(edit, json={"prohibit_login": True}))


async def _deploy_key(people, full_name, creator, revoke):
    key, _ = await key_at(creator, f"api/v1/repos/{full_name}/keys")
    return Right([], revoke, uses=await ssh_uses(people, key, full_name))


async def deactivation_of(people, person):
    """Deactivate the account of a person by its source."""
    name, source = await login(person), f"corp-{secrets.token_hex(3)}"
    config = {"kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot"}
    auths, link = "api/v1/admin/auths", {"login_name": name}
    source_row = await people.administrator.post(auths, json={"name": source, "config": config})
    link["source_id"] = source_row.json()["id"]
    linked = await people.administrator.patch(f"api/v1/admin/users/{name}", json=link)
    assert linked.status_code == 200, linked.text
    tokens = f"{auths}/{link['source_id']}/scim_tokens"
    token = (await people.administrator.post(tokens, json={"name": "client"})).json()["token"]
    client = await people.connect(headers={"Authorization": f"Bearer {token}"})
    new = {"userName": name, "externalId": name, "active": True}
    user = await client.post("scim/v2/Users", json=new)
    assert user.status_code == 201, user.text
    operations = [{"op": "replace", "path": "active", "value": False}]
    return partial(client.patch, f"scim/v2/Users/{user.json()['id']}", json={"Operations": operations})


async def _account(people, full_name, owner, person, delete):
    opened, uses = await ways_in(people, full_name, owner, person)
    tokens, refreshes = await granted_tokens(people.connect, owner, await login(person))
    application = await people.connect(headers={"Authorization": f"Bearer {tokens['access_token']}"})
    opened += [(person, ["api/v1/user"]), (application, await urls_of(owner, full_name))]
    others = ((owner, [f"api/v1/repos/{full_name}"]),)
    return Right(opened, delete, others, (*uses, refreshes))


RIGHTS_OF_ACCOUNTS = [
    demoted_administrator,
    deleted_account,
    purged_account,
    leaver_by_scim,
    deploy_key_of_deleted_account,
    deploy_key_of_leaver_by_scim,
    deploy_key_of_prohibited_account,
]
HOLDERS = [removed_collaborator, site_administrator, deleted_collaborator]
