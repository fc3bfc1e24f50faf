"""Which service answers which path."""

import pytest

from ingot_gateway.routes import RouteTable

TABLE = RouteTable()


@pytest.mark.parametrize(
    ("path", "service", "kind"),
    [
        ("/api/v1/markdown", "issues", "api"),
        ("/api/v1/markdown/raw", "issues", "api"),
        ("/api/v1/admin/users", "identity", "api"),
        ("/api/v1/admin/users/ann", "identity", "api"),
        ("/api/v1/admin/users/ann/keys", "identity", "api"),
        ("/api/v1/admin/users/ann/repos", "repos", "api"),
        ("/api/v1/admin/users/ann/repos/", "repos", "api"),
        ("/api/v1/org/acme/repos", "repos", "api"),
        ("/api/v1/org/acme/hooks/3", "hooks", "api"),
        ("/api/v1/orgs/acme", "identity", "api"),
        ("/api/v1/orgs/acme/repos", "repos", "api"),
        ("/api/v1/orgs/acme/hooks/", "hooks", "api"),
        ("/api/v1/orgs/acme/teams", "identity", "api"),
        ("/api/v1/orgs/hooks", "identity", "api"),
        ("/api/v1/teams/1", "identity", "api"),
        ("/api/v1/teams/1/members/ann", "identity", "api"),
        ("/api/v1/teams/1/repos/acme/app", "repos", "api"),
        ("/api/v1/user", "identity", "api"),
        ("/api/v1/user/ann/orgs", "identity", "api"),
        ("/api/v1/user/repos", "repos", "api"),
        ("/api/v1/user/starred/ann/app", "repos", "api"),
        ("/api/v1/user/subscriptions", "repos", "api"),
        ("/api/v1/user/times", "issues", "api"),
        ("/api/v1/users/search", "identity", "api"),
        ("/api/v1/users/ann/tokens", "identity", "api"),
        ("/api/v1/users/ann/repos", "repos", "api"),
        ("/api/v1/users/repos", "identity", "api"),
        ("/api/v1/users/ann/starred", "repos", "api"),
        ("/api/v1/repos/search", "repos", "api"),
        ("/api/v1/repos/migrate", "repos", "api"),
        ("/api/v1/repos/ann/app", "repos", "api"),
        ("/api/v1/repos/ann/issues", "repos", "api"),
        ("/api/v1/repos/ann/app/issues", "issues", "api"),
        ("/api/v1/repos/ann/app/issue/1/labels", "issues", "api"),
        ("/api/v1/repos/ann/app/labels/1", "issues", "api"),
        ("/api/v1/repos/ann/app/milestones", "issues", "api"),
        ("/api/v1/repos/ann/app/pulls/1/merge", "issues", "api"),
        ("/api/v1/repos/ann/app/commits/0/pull", "issues", "api"),
        ("/api/v1/repos/ann/app/commits/0/status", "repos", "api"),
        ("/api/v1/repos/ann/app/times", "issues", "api"),
        ("/api/v1/repos/ann/app/hooks/1", "hooks", "api"),
        ("/api/v1/repos/ann/app/hooks/git", "repos", "api"),
        ("/api/v1/repos/ann/app/hooks/git/update", "repos", "api"),
        ("/api/v1/repos/ann/app/issuesque", "repos", "api"),
        ("/api/v1/repos/ann/app/raw/master/issues", "repos", "file"),
        ("/api/v1/repos/ann/app/archive/master.zip", "repos", "file"),
        ("/api/v1/repos/ann/app/branches/topic/issues", "repos", "api"),
        ("/api/v1/repositories/4", "repos", "api"),
        ("/avatars/1", "identity", "api"),
        ("/login", "identity", "api"),
        ("/login/oauth/authorize", "identity", "api"),
        ("/.well-known/openid-configuration", "identity", "api"),
        ("/ann/app/info/refs", "repos", "git"),
        ("/ann/app.git/info/refs", "repos", "git"),
        ("/ann/app.git/git-upload-pack", "repos", "git"),
        ("/ann/app.git/git-receive-pack", "repos", "git"),
        ("/ann/app.git/clone.bundle", "repos", "git"),
        ("/api/v1/repos/ann/app/issues/1/assets", "issues", "upload"),
        ("/api/v1/repos/ann/app/issues/1/assets/2", "issues", "api"),
        ("/api/v1/repos/ann/app/issues/comments/1/assets", "issues", "upload"),
        ("/api/v1/repos/ann/app/issues/comments/1/assets/2", "issues", "api"),
        ("/ann/app/attachments/0", "issues", "file"),
        ("/api/v1/repos/ann/app/releases/1/assets", "repos", "upload"),
        ("/api/v1/repos/ann/app/releases/1/assets/2", "repos", "api"),
        ("/ann/app/releases/download/v1/a.zip", "repos", "file"),
        ("/ann/app/releases/download/rel/1.0/a.zip", "repos", "file"),
        ("/ann/app/releases/assets/0", "repos", "file"),
        ("/ann/app/pulls/1.diff", "issues", "file"),
        ("/ann/app/pulls/1.patch", "issues", "file"),
        ("/", "web", "api"),
        ("/ann", "web", "api"),
        ("/ann/app", "web", "api"),
        ("/ann/app/info", "web", "api"),
        ("/ann/app/info/refs/more", "web", "api"),
        ("/ann/app/pulls/1", "web", "api"),
        ("/ann/app/pulls/.diff", "web", "api"),
        ("/ann/app/src/branch/main/internal/jwks", "web", "api"),
        ("/API/v1/user", "web", "api"),
    ],
)
def test_a_path_goes_to_the_service_that_owns_it(path, service, kind):
    route = TABLE.find(path)

    assert route is not None
    assert (route.service, route.kind) == (service, kind)


@pytest.mark.parametrize(
    "path",
    [
        "/internal",
        "/internal/jwks",
        "//internal//jwks",
        "/internal/ann/info/refs",
        "/internal/info/refs",
        "/api/v1/../../internal/jwks",
        "/api/v1/repos/../../../internal/jwks",
        "/api/v1/users/./ann",
        "/api/v1/user/..",
        "/api",
        "/api/v1",
        "/api/v1/unknown",
        "/api/v1/issues",
        "/api/v2/user",
        "/api/app/info/refs",
        "/.well-known/app/info/refs",
        "/metrics/app/info/refs",
    ],
)
def test_no_other_path_leads_to_a_service(path):
    assert TABLE.find(path) is None
