"""The deletion of a user with all repositories, and with the organizations without another owner."""

import time

import httpx

from .deployments import ADMINISTRATOR
from .parts import PATIENCE

USER = ("pia", "what pia knows well")


def test_a_purged_user_takes_along_all_repositories(deployment):
    api = f"{deployment.url}api/v1/"
    with (
        httpx.Client(base_url=api, auth=ADMINISTRATOR, timeout=PATIENCE) as root,
        httpx.Client(base_url=api, auth=USER, timeout=PATIENCE) as pia,
    ):
        new = {"username": USER[0], "password": USER[1], "email": "pia@example.org"}
        assert root.post("admin/users", json=new | {"must_change_password": False}).status_code == 201
        assert pia.post("orgs", json={"username": "pias"}).status_code == 201
        repositories = ["pia/one", "pia/two", "pias/three"]
        for path, name in (("user/repos", "one"), ("user/repos", "two"), ("orgs/pias/repos", "three")):
            created = pia.post(path, json={"name": name, "auto_init": True})
            assert created.status_code == 201, created.text
        assert pia.post("repos/pia/one/issues", json={"title": "It creaks"}).status_code == 201

        answer = root.delete("admin/users/pia?purge=true")
        assert answer.status_code in (202, 204), answer.text
        assert pia.get("user").status_code in (401, 403)
        end = time.monotonic() + PATIENCE
        while root.get("users/pia").status_code != 404 and time.monotonic() < end:
            time.sleep(0.1)

        paths = [
            "users/pia",
            "orgs/pias",
            "admin/users/pia/purge",
            *(f"repos/{name}" for name in repositories),
        ]
        assert {path: root.get(path).status_code for path in paths} == dict.fromkeys(paths, 404)
