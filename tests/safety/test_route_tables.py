"""The gateway's table of routes, and the tool that writes ``routes.txt``, against what services declare."""

import re

from ingot_gateway.routes import OWN_PATHS as OWN_PATHS_OF_GATEWAY
from ingot_gateway.routes import ROUTES, RouteTable

from .apps import OWN_PATHS, app_of, policies_of, public_policies
from .routes import UNDECIDED, full_name
from .write_routes import TABLE, short_name, updated

FOR_NO_OPERATION = {"/api/v1/repos/{owner}/{repo}/hooks/git/*"}
"""Lines of the gateway that keep a path from a service for which it would be something else."""

FILES = {("issues", "/{owner}/{repo}/pulls/{index}"): (".diff", ".patch")}
"""The endings with which a path leads to a file; without one it is a page of web."""


def test_the_gateway_leads_each_route_to_the_service_that_declares_it_and_has_no_line_without_one(tmp_path):
    table, used, wrong = RouteTable(), set(), []
    for service in ("identity", "repos", "issues", "hooks", "mail", "web"):
        declared = policies_of(app_of(service, tmp_path), lambda path: not path.startswith(OWN_PATHS))
        assert len(declared) > (20 if service != "mail" else 5), service
        for path in {name.split()[1] for name in declared}:
            for ending in FILES.get((service, path), ("",)):
                route = table.find(re.sub(r"{[^}]*}", "x", path) + ending)
                if route is None or route.service != service:
                    wrong.append(f"{path} of {service} leads to {route and route.service}")
                else:
                    used.add(route.pattern)
    for path in {name.split()[1] for name in policies_of(app_of("gateway", tmp_path), lambda _path: True)}:
        route = table.find(path)
        if route is not None and route.service == "gateway":
            used.add(route.pattern)
        elif not path.startswith("/internal") and "{" not in path and path not in OWN_PATHS_OF_GATEWAY:
            wrong.append(f"{path} of the gateway leads to {route and route.service}")
    assert wrong == []
    assert {route.pattern for route in ROUTES} - used == FOR_NO_OPERATION


def test_the_tool_changes_nothing_in_a_table_that_is_whole(tmp_path):
    scopes = {name: policy.scope for name, policy in public_policies(tmp_path).items()}
    lines = TABLE.read_text().splitlines()
    assert updated(lines, scopes) == lines
    assert {full_name(short_name(name)) for name in scopes} == scopes.keys()


def test_the_tool_adds_new_routes_without_a_policy_and_removes_those_that_are_gone():
    lines = [
        "# what it is",
        "",
        "[anyone]",
        "GET //login",
        "GET /version",
        "[read]",
        "GET ~/tags read:repository",
    ]
    scopes = {
        "GET /login": "",
        "GET /api/v1/repos/{owner}/{repo}/tags": "read:repository",
        "POST /api/v1/repos/{owner}/{repo}/tags": "write:repository",
    }
    assert updated(lines, scopes) == [
        *(line for line in lines if line != "GET /version"),
        "",
        UNDECIDED,
        "POST ~/tags write:repository",
    ]
