"""Every service describes its public routes, under operation ids of their own."""

import importlib
from collections import Counter

import pytest
from cryptography.fernet import Fernet

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.keys import SigningKey

WITH_DATABASE = ("identity", "repos", "issues", "hooks", "mail")
TEXTS = {
    "issues": {"/api/v1/repos/{owner}/{repo}/pulls/{index}.{diffType}"},
    "repos": {"/api/v1/repos/{owner}/{repo}/git/commits/{sha}.{diffType}"},
}
"""Paths of routes that also return text."""
REFS = "/api/v1/repos/{owner}/{repo}/commits/{ref}/"
SPELLINGS = {"repos": {REFS + "{rest}", REFS + "status/{rest}", REFS + "statuses/{rest}"}}
"""The status and the statuses of a ref with slashes: a parameter of a described path holds none."""


def app_of(service: str, folder):
    """The app of a service that never meets its database."""
    settings = importlib.import_module(f"ingot_{service}.settings").Settings(
        database_url=f"sqlite+aiosqlite:///{folder}/x.db",
        private_key=SigningKey.generate().text(),
        background=False,
        **(
            {"sealing_key": Fernet.generate_key().decode()}
            if service in ("identity", "repos", "hooks", "mail")
            else {}
        ),
        **({"storage_root": str(folder)} if service == "repos" else {}),
    )
    return importlib.import_module(f"ingot_{service}.app").create_app(settings)


@pytest.mark.parametrize("service", WITH_DATABASE)
def test_a_service_describes_all_its_public_routes(service, tmp_path):
    app = app_of(service, tmp_path)
    description = openapi_description(app)
    ids = Counter(
        op["operationId"]
        for path in description["paths"].values()
        for op in path.values()
        if "operationId" in op
    )
    assert ids.most_common(1)[0][1] == 1
    public = {route.path_format for route in app.routes if route.path_format.startswith("/api/v1/")}
    assert SPELLINGS.get(service, set()) <= public
    assert public - SPELLINGS.get(service, set()) | TEXTS.get(service, set()) == set(description["paths"])


@pytest.mark.parametrize(
    ("service", "paged", "whole"),
    [
        (
            "identity",
            {"userSearch", "userListFollowers", "orgListMembers", "orgListUserOrgs", "orgListUserOrgsAlias"},
            {"userGetCurrent"},
        ),
        (
            "repos",
            {"repoSearch", "repoListBranches", "repoListTopics"},
            {"repoListBranchProtection", "repoGet"},
        ),
        (
            "issues",
            {
                "issueListIssues",
                "repoListPullRequests",
                "issueSearchIssues",
                "issueGetComments",
                "issueGetLabelsAlias",
            },
            {"issueGetIssue"},
        ),
        ("hooks", {"repoListHooks"}, {"repoGetHook"}),
    ],
)
def test_a_list_with_pages_says_how_they_are_named(service, paged, whole, tmp_path):
    paths = openapi_description(app_of(service, tmp_path))["paths"].values()
    parameters = {
        operation["operationId"]: {one["name"] for one in operation.get("parameters", [])}
        for path in paths
        for method, operation in path.items()
        if method == "get"
    }
    assert {name for name in paged if not parameters[name] >= {"page", "limit"}} == set()
    assert {name for name in whole if parameters[name] & {"page", "limit"}} == set()
