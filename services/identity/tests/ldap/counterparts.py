"""Sources of the site that are a real directory."""

from typing import Any

from ingot_testing.slapd import PEOPLE, SERVICE_DN, SERVICE_PASSWORD, Slapd


def config_of(slapd: Slapd, **changes: Any) -> dict[str, Any]:
    """Return the configuration of a source for the directory."""
    usual = {
        "kind": "ldap",
        "url": slapd.url,
        "authorities": slapd.authority.pem,
        "bind_dn": SERVICE_DN,
        "base_dn": PEOPLE,
        "first_sign_in": "create",
    }
    return usual | changes


async def add_source(world: Any, slapd: Slapd, name: str = "corp", **config: Any) -> int:
    """Add the directory as a source and return its id."""
    body = {"name": name, "title": name, "secret": SERVICE_PASSWORD, "config": config_of(slapd, **config)}
    answer = await world.call("POST", "/admin/auths", body, as_="root")
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])
