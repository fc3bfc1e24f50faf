"""Lists of followers and followed accounts."""


async def test_following_is_listed_on_both_sides_and_ends(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    for _ in range(2):
        assert (await world.call("PUT", "/user/following/bob", as_="ann")).status_code == 204

    async def logins(path, as_="ann"):
        answer = await world.call("GET", path, as_=as_)
        assert answer.headers["x-total-count"] == str(len(answer.json()))
        return [user["login"] for user in answer.json()]

    assert await logins("/user/following") == await logins("/users/ann/following", "bob") == ["bob"]
    assert await logins("/user/followers", "bob") == await logins("/users/bob/followers") == ["ann"]
    for path in ("/user/following/bob", "/users/ann/following/bob"):
        assert (await world.call("GET", path, as_="ann")).status_code == 204
    assert (await world.call("DELETE", "/user/following/bob", as_="ann")).status_code == 204
    for path in ("/user/following/bob", "/users/ann/following/bob"):
        answer = await world.call("GET", path, as_="ann")
        assert (answer.status_code, answer.content) == (404, b"")
    assert await logins("/users/bob/followers") == []


async def test_nobody_follows_themselves_and_nobody_follows_nobody(world):
    await world.add_user("ann")
    assert (await world.call("PUT", "/user/following/ann", as_="ann")).status_code == 204
    assert (await world.call("GET", "/user/following", as_="ann")).json() == []
    for method in ("GET", "PUT", "DELETE"):
        assert (await world.call(method, "/user/following/nobody", as_="ann")).status_code == 404
