"""Calls of a page to other services: their number does not depend on the number of rows."""

import re
from collections import Counter

import pytest

from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.reviews import PullReview

from .forge import ANN, ANN_USER, HOME, MOMENT, issue, plain, release, repository
from .repository_settings.test_protections import ON_THE_LIST
from .test_forms import ANSWERS, COMMIT, IMPORT, ORGANIZATION, SOURCE, SUGGESTION, WIKI_PAGE
from .webhooks.test_owners import DELIVERY, HOOK
from .world import ROOT

FEW, MANY = 2, 20
EVENT = {
    "type": "review", "review_id": 7, "user": ANN_USER, "body": "words", "created_at": MOMENT,
    "ref_commit_sha": "", "ref_issue": None,
}  # fmt: skip
ACCOUNT = ANN_USER | {"created": MOMENT, "is_admin": False, "permission": "read", "username": "ann"}
BRANCH = {"protected": False, "commit": {"id": "1" * 40, "message": "x", "timestamp": MOMENT}}
LABEL, MILESTONE = (
    plain(Label(id=1, name="l", color="ff0000")),
    plain(Milestone(id=1, title="m", open_issues=1)),
)
EXPORT = {
    "id": 1, "status": "done", "size": 1, "error": "", "repositories": {"done": 1}, "created_at": MOMENT,
    "finished_at": MOMENT, "expires_at": MOMENT,
}  # fmt: skip
IMPORTED = {
    "status": "running", "phase": "issues", "percent": 0, "error": "", "repeat": 0, "conflicts": 0,
    "counts": {"issues": {"done": 5, "total": 9}, "labels": {"done": 0, "total": None}},
}  # fmt: skip
ENTRY = {
    "type": "file", "size": 3, "last_commit_sha": "1" * 40, "last_commit_message": "x",
    "last_committer_date": MOMENT,
}  # fmt: skip
REVIEW = plain(PullReview(id=1, state="COMMENT", comments_count=1, user=ANN, submitted_at=MOMENT))
GPG_KEY = {
    "key_id": "38EA3BCED732982C", "emails": [{"email": "ann@example.org", "verified": True}],
    "subkeys": [{"key_id": "1"}], "expires_at": "0001-01-01T00:00:00Z",
}  # fmt: skip
TEAM = {
    "name": "crew", "permission": "read", "description": "", "includes_all_repositories": False,
    "can_create_org_repo": False,
}  # fmt: skip


INVITATION = {
    "email": "zoe@x.example", "permission": "", "inviter": ANN_USER,
    "created_at": MOMENT, "expires_at": MOMENT,
}  # fmt: skip


def lists_of(count):
    """Return answers of the API in which every list has ``count`` rows."""
    numbers = range(1, count + 1)
    repositories = [repository(name=f"r{number}", full_name=f"ann/r{number}") for number in numbers]
    issues = [
        issue(number=number, id=number, comments=0, repository={"full_name": "ann/demo"})
        for number in numbers
    ]

    def rows(row, **varied):
        return [
            row | {"id": number, **{name: f"{text}{number}" for name, text in varied.items()}}
            for number in numbers
        ]

    people = rows(ACCOUNT, login="ann")
    subject = {"html_url": "http://x/", "latest_comment_url": "", "title": "t", "type": "Issue"}
    thread = {
        "subject": subject,
        "repository": {"full_name": "ann/demo"},
        "updated_at": MOMENT,
        "unread": True,
    }
    key = {"title": "k", "fingerprint": "f", "read_only": True}
    return {
        "/user/repos": repositories, "/users/ann/repos": repositories, "/repos/search": repositories,
        f"{HOME}/forks": repositories, "/teams/1/repos": repositories,
        "/repos/issues/search": issues, f"{HOME}/issues": issues, f"{HOME}/issues/1/dependencies": issues,
        "/notifications/new": {"new": count}, "/users/ann": ACCOUNT | dict.fromkeys(("description",
                                                                                     "location", "website"),
                                                                                         ""),
        "/notifications": rows(thread), "/user/hooks": rows(HOOK), f"{HOME}/hooks": rows(HOOK),
        "/orgs/crew/hooks": rows(HOOK),
        **dict.fromkeys(("/users/search", "/admin/users", f"{HOME}/collaborators", f"{HOME}/stargazers",
                         f"{HOME}/subscribers", f"{HOME}/assignees", "/orgs/crew/members", "/teams/1/members",
                         "/users/ann/followers"), people),
        "/admin/mails": rows({
            "kind": "issue", "address": "a@example.org", "user_id": 1, "attempts": 1, "error": "",
            "created_at": MOMENT,
        }),
        "/admin/registrations": rows({
            "username": "nora", "email": "a@example.org", "email_confirmed": True, "note": "",
            "created_at": MOMENT,
        }),
        "/orgs/crew/exports": [EXPORT], "/orgs/crew/exports/1/repositories": rows({
            "status": "done", "size": 1, "error": "", "left_out_files": [],
        }, name="r"),
        "/admin/imports": rows(IMPORT), "/admin/imports/1/repositories": rows(IMPORTED, name="r"),
        "/admin/imports/1/teams": rows({"name": "crew", "status": "done", "members": 2, "error": ""}),
        "/admin/imports/1/absent_members": rows({"login": "cat", "teams": 1}),
        "/orgs": rows(ORGANIZATION), "/admin/orgs": rows(ORGANIZATION), "/user/orgs": rows(ORGANIZATION),
        "/users/ann/orgs": rows(ORGANIZATION), "/orgs/crew/teams": rows(TEAM), f"{HOME}/teams": rows(TEAM),
        **dict.fromkeys(("/orgs/crew/teams/1/invitations", f"{HOME}/invitations"), rows(INVITATION)),
        "/user/gpg_keys": rows(GPG_KEY), "/user/keys": rows(key), f"{HOME}/keys": rows(key),
        "/users/root/tokens": rows({}, name="t"), "/user/sessions": rows({"user_agent": "x", "address": "1",
                                                                          "created_at": MOMENT,
                                                                          "last_used_at": None,
                                                                          "expires_at": MOMENT,
                                                                          "current": False}),
        "/admin/auths/1/scim_tokens": rows({"last_used_at": None, "created_at": MOMENT}, name="t"),
        "/admin/auths": rows(SOURCE), "/user/external_accounts": rows({
            "source_id": 1, "title": "Corp", "name": "corp", "enabled": True, "linked": True,
            "login_name": "ann", "email": "",
            "created_at": MOMENT, "last_sign_in_at": None,
        }),
        "/user/emails": rows({"email": "a@example.org", "primary": False, "verified": True}),
        "/user/applications/oauth2": rows({"client_id": "1", "redirect_uris": []}, name="app"),
        "/user/oauth2_grants": rows({"application": "a", "owner": "o", "scopes": [], "created_at": MOMENT}),
        **{f"{owner}/hooks/1/deliveries": rows(DELIVERY) for owner in ("/user", "/orgs/crew", HOME)},
        f"{HOME}/branches": rows(BRANCH, name="b"), f"{HOME}/commits": rows(COMMIT),
        f"{HOME}/pulls/1/commits": rows(COMMIT),
        f"{HOME}/tags": rows({"message": "", "commit": {"sha": "1" * 40}}, name="v"),
        f"{HOME}/releases": rows(release() | {"body": f"{count} words"}, tag_name="v"),
        HOME: repository(has_wiki=True), f"{HOME}/wiki/pages": rows(WIKI_PAGE, title="p", sub_url="p"),
        f"{HOME}/wiki/revisions/Home": {"commits": rows(WIKI_PAGE["last_commit"]), "count": count},
        f"{HOME}/languages": {}, f"{HOME}/contents-ext": {"dir_contents": rows(ENTRY, name="n", path="n")},
        f"{HOME}/compare/main...topic": {"commits": rows(COMMIT), "total_commits": count},
        f"{HOME}/labels": rows(LABEL, name="l"), "/orgs/crew/labels": rows(LABEL, name="l"),
        f"{HOME}/milestones": rows(MILESTONE, title="m"),
        f"{HOME}/issues/1/timeline": rows(EVENT | {"body": f"{count} words"}),
        f"{HOME}/pulls/1/reviews": rows(REVIEW),
        f"{HOME}/pulls/1/comments": rows(SUGGESTION | {"body": f"{count} remarks"}),
        f"{HOME}/issues/1/times": rows({"time": 60, "user_id": 1, "created": MOMENT}),
        f"{HOME}/branch_protections": [ON_THE_LIST | {"rule_name": f"b{number}"} for number in numbers],
        f"{HOME}/tag_protections": rows({"whitelist_usernames": [], "whitelist_teams": []}, name_pattern="v"),
        f"{HOME}/push_mirrors": rows({
            "remote_address": "x", "remote_name": "y", "last_update": None, "sync_on_commit": True,
            "last_error": "",
        }),
    }  # fmt: skip


PAGES = (
    "/", "/issues", "/pulls", "/notifications", "/ann", "/ann?tab=activity", "/ann?tab=followers",
    "/explore/repos", "/explore/users", "/explore/organizations", "/explore/issues", "/search?q=a",
    "/user/settings/keys",
    "/user/settings/gpg_keys", "/user/settings/applications", "/user/settings/security",
    "/user/settings/emails", "/user/settings/oauth2", "/user/settings/hooks",
    "/user/settings/hooks/1", "/org/crew/settings/members", "/org/crew/settings/teams",
    "/org/crew/settings/teams/1", "/org/crew/settings/labels", "/org/crew/settings/hooks",
    "/org/crew/settings/export",
    "/org/crew/settings/hooks/1", "/admin/users", "/admin/orgs", "/admin/auths", "/admin/mails",
    "/admin/registrations", "/admin/auths/1", "/admin/imports", "/admin/imports/1",
    "/user/settings/external_accounts",
    "/repo/create", "/repo/migrate", "/repo/migrate_archive",
    *(f"/ann/demo{page}" for page in (
        "", "/src/branch/main", "/commits/branch/main", "/branches", "/tags", "/releases",
        "/compare/main...topic", "/forks", "/wiki/_pages", "/wiki/_history/Home",
        "/stars", "/watchers", "/fork", "/generate", "/issues", "/issues/new", "/issues/1", "/issues/1/facts",
        "/labels", "/milestones", "/pulls", "/pulls/1", "/pulls/1/commits", "/pulls/1/files",
        "/settings/collaboration", "/settings/hooks", "/settings/hooks/1", "/settings/keys",
        "/settings/branches", "/settings/mirrors", "/settings/teams",
    )),
)  # fmt: skip
"""Every page that has a list."""


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_calls_others_as_often_for_many_rows_as_for_few(pages, forge, page):
    calls, rows = [], []
    forge.failures["/orgs/ann"] = 404
    await pages.get("/explore", ROOT)  # the first request also asks for the public key
    for count in (FEW, MANY):
        forge.answers |= ANSWERS | lists_of(count)
        forge.targets.clear()
        shown = await pages.get(page, ROOT)
        assert shown.status_code == 200, shown.text
        calls.append(Counter(forge.targets))
        rows.append(len(re.findall(r"<(?:li|tr|option|details|label)[ >]", shown.text)))
    assert calls[0] == calls[1]
    assert rows[0] < rows[1], "the list is on the page"
