"""Sign-ins with the passwords of a real directory."""

from ..providers.counterparts import Visitor
from .counterparts import PASSWORD, PEOPLE, SERVICE_DN, add_source


async def sign_in(site, name, password=PASSWORD):
    """The id of the account that signs in by basic authentication; 0 if it is refused."""
    answer = await site.authenticate(name=name, password=password)
    assert answer.status_code in (200, 201, 403), answer.text
    return answer.json().get("user_id", 0)


async def login_of(site, user_id):
    users = (await site.call("GET", "/admin/users", as_="root")).json()
    return {user["id"]: user["login"] for user in users}[user_id]


async def test_a_person_signs_in_by_search_and_bind(site, slapd):
    source_id = await add_source(site, slapd)
    dn = await slapd.add_person("ann", cn="Ann Doe")
    visitor = Visitor(site.app)
    answer = await visitor.password_sign_in("ann", PASSWORD)
    assert (answer.status_code, bool(visitor.session)) == (303, True), answer.text
    user = (await site.call("GET", f"/admin/users?source_id={source_id}", as_="root")).json()[0]
    assert (user["login"], user["full_name"], user["email"]) == ("ann", "Ann Doe", "ann@corp.example")
    assert len(user["login_name"]) == 36
    assert await slapd.binds() == [SERVICE_DN, dn]


async def test_a_wrong_password_is_refused(site, slapd):
    await add_source(site, slapd)
    await slapd.add_person("ann")
    assert await sign_in(site, "ann", "wrong") == 0
    assert await sign_in(site, "bob") == 0
    visitor = Visitor(site.app)
    answer = await visitor.password_sign_in("ann", "wrong")
    assert (answer.status_code, visitor.session) == (403, "")


async def test_a_person_signs_in_by_a_direct_bind(site, slapd):
    await add_source(site, slapd, bind_dn="", user_dn=f"uid={{name}},{PEOPLE}", url=slapd.tls_url)
    dn = await slapd.add_person("ann")
    assert await login_of(site, await sign_in(site, "ann")) == "ann"
    assert await sign_in(site, "ann", "wrong") == 0
    assert await slapd.binds() == [dn, dn]
