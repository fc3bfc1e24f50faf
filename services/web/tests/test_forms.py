"""Every form: a change redirects the browser, and a rejection is a page with the reason and its status."""

import re
import time
from base64 import b64encode

import pytest

from ingot_contracts.issues.issues import Comment
from ingot_contracts.issues.reviews import PullReviewComment
from ingot_contracts.testing.forms import form_of

from .diffs.test_parsing import CHANGED
from .forge import ANN as ANN_ACCOUNT
from .forge import ANN_USER, HOME, MOMENT, issue, plain, pull, release, repository
from .repository_settings.test_protections import ON_THE_LIST
from .reviews.test_suggestions import HUNK
from .webhooks.test_owners import DELIVERY, HOOK
from .world import ANN, ROOT, World

COMMIT = {
    "sha": "1" * 40, "commit": {"message": "x", "author": {"name": "ann"},
                                "committer": {"name": "ann", "date": MOMENT}, "verification": None},
    "author": None, "parents": [],
}  # fmt: skip
SUGGESTION = plain(
    PullReviewComment(
        id=5,
        path="src/a.py",
        position=4,
        original_position=0,
        diff_hunk=HUNK,
        user=ANN_ACCOUNT,
        commit_id="1" * 40,
        original_commit_id="1" * 40,
        pull_request_review_id=7,
        created_at=MOMENT,
        updated_at=MOMENT,
        body="```suggestion\nfive\n```",
    )
)
HEAD = pull()["head"]
RELEASE = release(prerelease=True)
COMMENT = plain(
    Comment(
        id=5,
        html_url="",
        user=ANN_ACCOUNT,
        body="words",
        issue_url="http://forge/ann/demo/issues/1",
        created_at=MOMENT,
        updated_at=MOMENT,
    )
)
COMMENT_ON_LINE = SUGGESTION | {"body": "words", "pull_request_url": "http://forge/ann/demo/pulls/1"}
CONTENT = b64encode(b"one\ntwo\nthree\nfour\n").decode()
FILE = {"file_contents": {"type": "file", "sha": "2" * 40, "content": CONTENT}}
PROFILE = dict.fromkeys(("full_name", "description", "location", "website"), "") | {"hide_email": False}
ORGANIZATION = PROFILE | {"username": "crew", "avatar_url": "", "visibility": "public"}
WIKI_COMMIT = {"sha": "1" * 40, "author": {"name": "Ann", "email": "", "date": MOMENT}, "message": "words"}
WIKI_PAGE = {
    "title": "Home", "sub_url": "Home", "content_base64": CONTENT, "commit_count": 1,
    "sidebar": "", "footer": "",
    "last_commit": WIKI_COMMIT,
}  # fmt: skip
IMPORT = {
    "id": 1, "status": "running", "service": "gitea", "original_url": "https://there.example.org/crew",
    "source": "crew", "organization": "crew", "is_listed": True, "repositories": {"done": 3, "running": 1},
    "teams": {}, "error": "", "created_at": MOMENT, "finished_at": None, "repeat": 0,
}  # fmt: skip
SOURCE = {
    "id": 1, "name": "corp", "title": "Corp", "kind": "oidc", "enabled": True, "from_settings": False,
    "has_secret": True, "icon_url": "", "accounts": 2, "redirect_uri": "http://x/callback",
    "backchannel_logout_uri": "http://x/logout",
    "post_logout_redirect_uri": "http://x/", "scim_url": "http://x/scim/v2",
    "created_at": MOMENT, "updated_at": MOMENT,
    "config": {
        "kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot",
        "scopes": ["openid", "email"], "login_claim": "preferred_username", "name_claim": "name",
        "email_claim": "email", "groups_claim": "groups", "trust_email": False, "allowed_domains": [],
        "required_claim": "", "required_values": [], "required_groups": [],
        "subject_claim": "sub", "groups_from": "sign_in",
        "first_sign_in": "link", "trust_second_factor": False, "sign_out_there": True, "clock_skew": 60,
        "group_team_map": {"developers": {"crew": ["coders", "testers"]}}, "admin_groups": [],
        "restricted_groups": ["contractors"],
    },
}  # fmt: skip
ANSWERS = {
    f"{HOME}/migration": {
        "id": 7, "status": "done", "error": "", "repeat": 0, "original_url": "https://x/y.git", "counts": {},
        "finished_at": MOMENT,
    },
    f"{HOME}/export": {
        "status": "running", "layout": "archive", "left_out": [], "counts": {}, "size": 0, "error": "",
        "created_at": MOMENT, "finished_at": None, "expires_at": None,
    },
    "/admin/auths/1": SOURCE, "/admin/imports/1": IMPORT,
    "/user/mail-preferences": {
        "mentions": "instant", "participating": "instant", "watching": "instant", "own": False,
    },
    HOME: repository(has_wiki=True), f"{HOME}/wiki/page/Home": WIKI_PAGE,
    "/user": ANN_USER, "/user/settings": PROFILE, "/users/bob": ANN_USER | {"is_admin": False},
    "/orgs/crew": ORGANIZATION,
    "/teams/1": {
        "id": 1, "name": "crew", "permission": "read", "description": "", "includes_all_repositories": False,
        "can_create_org_repo": True,
    },
    "/user/two_factor": {"enabled": False, "passkeys": 0, "recovery_codes": 0},
    f"{HOME}/compare/main...topic": {"commits": [COMMIT], "total_commits": 1},
    f"{HOME}/pulls/1": pull(),
    f"{HOME}/pulls/1/comments": [SUGGESTION], f"{HOME}/pulls/1.diff": CHANGED.encode(),
    f"{HOME}/git/commits/{'1' * 40}": COMMIT, f"{HOME}/releases/tags/v1": RELEASE,
    f"{HOME}/issues/comments/5": COMMENT, f"{HOME}/pulls/comments/5": COMMENT_ON_LINE,
    f"{HOME}/contents-ext/src/a.py": FILE, f"{HOME}/branch_protections/main": ON_THE_LIST,
    f"{HOME}/tag_protections/1": {"id": 1, "name_pattern": "v*", "whitelist_usernames": [],
                                  "whitelist_teams": []},
    **{f"{owner}/hooks/1": HOOK for owner in ("/user", "/orgs/crew", HOME)},
    **{f"{owner}/hooks/1/deliveries/d1": DELIVERY for owner in ("/user", "/orgs/crew", HOME)},
}  # fmt: skip
CHANGED_ANSWER = {
    "id": 1, "number": 1, "body": "words", "full_name": "ann/demo", "sha1": "secret",
    "commit": {"sha": "1" * 40}, "username": "crew", "name": "app", "client_id": "1",
    "client_secret": "secret", "secret": "S", "uri": "otpauth://totp/x", "merge_type": "merge",
    "sub_url": "Home", "repositories": [], "taken": [], "excluded": 0, "is_complete": True,
}  # fmt: skip
"""Answers to changes, with all fields that any page needs."""
FORM = {
    "id": "1",
    **dict.fromkeys(("title", "body", "name", "tag", "login", "new_owner", "username", "key", "email",
                     "pattern"), "words"),
    "path": "words", "sha": "1", "old_password": "a", "new_password": "b", "repeated": "b",
    "url": "http://x/", "suggestion": "five", "comment": "", "content": "heart", "push": "1",
    "style": "merge", "line": "4", "side": "new", "team": "crew",
}  # fmt: skip
PARAMETERS = {
    "owner": "ann", "repo": "demo", "org": "crew", "username": "bob", "index": "1", "hook_id": "1",
    "delivery_id": "d1", "team": "1", "ref": "main/src/a.py", "basehead": "main...topic", "milestone_id": "1",
    "rule_id": "1", "comment_id": "5", "tag": "v1", "source_id": "1", "review_id": "7", "sha": "1" * 40,
    "import_id": "1", "page": "Home",
}  # fmt: skip
OTHERS = (
    "/admin/tasks", "/admin/events", "/admin/jobs", "/ann/demo/pulls/1/viewed", "/user/invitation",
    "/ann/demo/issues/edit", "/ann/demo/pulls/edit", "/ann/demo/pulls/1/conflicts",
)  # fmt: skip
"""Their answers do not come from the public API: see test_operations, test_file_views, test_invitations,
test_conflicts and test_bulk_edits."""
FIELDS = {
    "/ann/demo/settings/delete": {"name": "ann/demo"},
    "/ann/demo/settings/transfer": {"name": "ann/demo"},
    "/ann/demo/transfer": {"do": "accept"},
    "/ann/demo/pulls/1/reviews": {"commit_id": HEAD["sha"], "base_branch": "main"},
    "/ann/demo/milestones/1": {"do": "closed"},
    "/ann/demo/issues/1/tasks": {"task": "0", "version": "0"},
    "/ann/demo/issues/1/facts": {"do": "lock", "lock": "yes"},
    "/ann/demo/issues/1/reviewers": {"reviewers": "zoe"},
    "/ann/demo/branches/merge-upstream": {"branch": "main"},
    "/user/settings/applications": {"repository": "read"},
    "/user/settings/two_factor": {"do": "begin"},
    "/user/settings/avatar": {"remove": "1"},
    "/user/settings/external_accounts": {"remove": "1"},
    "/org/crew/settings/avatar": {"remove": "1"},
    "/ann/demo/settings/avatar": {"remove": "1"},
    "/org/crew/settings": {"do": "save"},
    "/org/crew/settings/export": {"do": "begin"},
    "/admin/users/bob": {"do": "save"},
    "/admin/auths/1": {"do": "save"},
    "/admin/imports": {"do": "import"},
    "/admin/registrations": {"do": "approve"},
    **{
        path: {"do": "off"} for path in (f"{o}/settings/hooks/1" for o in ("/user", "/org/crew", "/ann/demo"))
    },
}
"""Fields of forms in addition to FORM, by address."""
SHOWN_ONCE = {"/user/settings/applications", "/user/settings/oauth2", "/user/settings/two_factor"}
"""The page after the change shows a secret, which no address may hold."""
UPLOAD, ARCHIVE = "/ann/demo/_upload/main/src/a.py", "/repo/migrate_archive"
NAMED = re.compile(r"{(\w+)(?::\w+)?}")


def _forms() -> list[str]:
    """The address of every route that takes a form."""
    world = World()
    paths = {
        NAMED.sub(lambda name: PARAMETERS[name[1]], route.path_format)
        for route in world.app.routes
        if "POST" in getattr(route, "methods", ()) and not route.path_format.startswith("/internal/")
    }
    return sorted(paths)


FORMS = [path for path in _forms() if path != "/-/appearance"]
"""All forms, except the one that changes only a cookie: see test_appearance."""


@pytest.mark.parametrize("path", [path for path in FORMS if path not in OTHERS])
async def test_after_a_change_the_browser_is_sent_on_and_a_refusal_is_said(pages, forge, path):
    forge.answers |= ANSWERS | {f"{HOME}/issues/1": issue(body="- [ ] words")}
    box = '<input type="checkbox"'
    forge.html = {"- [ ] words": f"{box}> words", "- [x] words": f'{box} checked=""> words'}
    forge.changed = CHANGED_ANSWER
    form = _form(pages, path)
    done = await _send(pages, path, form)
    assert done.status_code == (200 if path in SHOWN_ONCE else 303), done.text
    assert forge.sent
    changes = len(forge.sent)
    assert (await _send(pages, path, form)).status_code == 409
    assert len(forge.sent) == changes, "a form that comes twice changes something once"

    for status in (409, 422):
        forge.refuses = status
        refused = await _send(pages, path, _form(pages, path))
        assert refused.status_code == status, refused.text
        assert "efused" in refused.text


@pytest.mark.parametrize("path", FORMS)
async def test_an_empty_form_asks_for_no_empty_path(pages, forge, path):
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    answer = await _send(pages, path, {"token": pages.form_token(ROOT, at=time.time())})
    assert answer.status_code in (200, 303, 404, 409, 422), answer.text
    assert not [target for target in forge.targets if "//" in target or target.endswith("/")]


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_that_is_forged_or_of_somebody_else_changes_nothing(pages, forge, path):
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    form = _form(pages, path)
    forgeries = (
        ({"token": ""}, {}),
        ({"token": pages.form_token(ANN, at=time.time())}, {}),
        ({}, {"Origin": "http://evil.example"}),
        ({}, {"Sec-Fetch-Site": "cross-site"}),
    )
    forged = [await _send(pages, path, form | fields, headers) for fields, headers in forgeries]
    assert [answer.status_code for answer in forged] == [403] * 4
    assert not forge.sent


def _form(pages, path):
    return FORM | FIELDS.get(path, {}) | {"token": pages.form_token(ROOT, at=time.time())}


async def _send(pages, path, form, headers=()):
    files = {"files": ("a.txt", b"text")} if path in (UPLOAD, ARCHIVE) else None
    return await pages.client.post(
        path, data=form, files=files, headers=pages.callers.headers(ROOT) | dict(headers)
    )


@pytest.mark.parametrize(
    "path",
    [
        "milestones/new",
        "milestones/1/edit",
        "releases/new",
        "releases/edit/v1",
        "_new/main",
        "comments/5",
        "pulls/1/comments/5",
    ],
)
async def test_the_form_of_what_one_may_not_change_is_not_shown(pages, forge, path):
    forge.answers |= ANSWERS | {f"{HOME}/milestones/1": {"title": "One", "description": "", "due_on": None}}
    own = forge.answers[HOME]
    assert (await pages.get(f"/ann/demo/{path}", ANN)).status_code == 200
    forge.answers[HOME] = own | {"permissions": dict.fromkeys(("admin", "push"), False) | {"pull": True}}
    bob = {"user": ANN_USER | {"login": "bob"}}
    forge.answers |= {
        f"{HOME}/issues/comments/5": COMMENT | bob,
        f"{HOME}/pulls/comments/5": COMMENT_ON_LINE | bob,
    }
    refused = await pages.get(f"/ann/demo/{path}", ANN)
    assert (refused.status_code, "you may not" in refused.text.lower()) == (403, True)


WRITTEN = (
    "/ann/demo/issues/new", "/ann/demo/issues/1/comments", "/ann/demo/issues/1/edit",
    "/ann/demo/pulls/1/reviews", "/ann/demo/pulls/1/comments", "/ann/demo/pulls/1/comments/5/replies",
    "/ann/demo/compare/main...topic", "/ann/demo/releases/new", "/ann/demo/releases/edit/v1",
    "/ann/demo/comments/5", "/ann/demo/pulls/1/comments/5",
)  # fmt: skip


@pytest.mark.parametrize("path", WRITTEN)
async def test_what_somebody_wrote_is_in_the_form_that_was_refused(pages, forge, path):
    forge.answers |= ANSWERS
    forge.refuses = 422
    text = "a long text\r\nof <two> lines"
    form = {"title": "t", "body": text, "token": pages.form_token(ANN, at=time.time())}
    refused = await pages.post(path, form, ANN)
    assert "a long text\nof &lt;two&gt; lines</textarea>" in refused.text.replace("\r\n", "\n")


FILLED = (
    ("/user/settings", "", "Save", {"full_name": "A", "description": "B", "location": "C",
                                    "website": "http://x/", "hide_email": "1"}),
    ("/user/settings/emails", "", "Add address", {"email": "a@b.example"}),
    (
        "/user/settings/mail", "", "Save",
        {"mentions": "off", "participating": "daily", "watching": "hourly", "own": "1"},
    ),
    ("/org/crew/settings", "", "Save", {"full_name": "A", "description": "B", "location": "C",
                                        "website": "http://x/", "visibility": "private"}),
    ("/org/crew/settings", "", "Rename", {"new_name": "other"}),
    ("/org/crew/settings", "", "Delete organization", {"typed": "other"}),
    ("/org/crew/settings/teams", "", "Create team", {"name": "A", "description": "B", "permission": "write",
                                                       "includes_all_repositories": "1"}),
    ("/org/crew/settings/teams/1", "", "Add member", {"login": "zoe"}),
    ("/org/crew/settings/teams/1", "", "Invite person", {"email": "z@x.example"}),
    ("/org/crew/settings/teams/1", "", "Add repository", {"repository": "other"}),
    ("/admin/users", "", "Create account", {"username": "zoe", "email": "a@b.example", "full_name": "Z",
                                          "restricted": "1"}),
    ("/admin/users/bob", "", "Save", {"full_name": "B", "email": "a@b.example", "admin": "1",
                                      "prohibit_login": "1", "restricted": "1"}),
    ("/admin/users/bob", "", "Rename", {"new_name": "robert"}),
    ("/admin/users/bob", "", "Delete account", {"typed": "other"}),
    ("/ann/demo/settings/collaboration", "", "Save", {"login": "zoe", "permission": "admin"}),
    ("/ann/demo/settings/collaboration", "", "Invite person",
     {"email": "z@x.example", "permission": "admin"}),
    ("/ann/demo/settings/teams", "", "Add team", {"team": "crew"}),
    ("/ann/demo/settings/keys", "", "Add key", {"title": "A", "key": "ssh-ed25519 A", "writable": "1"}),
    ("/ann/demo/settings/transfer", "", "Transfer repository", {"new_owner": "zoe", "name": "other"}),
    ("/ann/demo/settings", "/delete", "Delete repository", {"name": "other"}),
    ("/ann/demo/issues/1/labels", "", "Save", {"labels": "2"}),
    ("/ann/demo/issues/1/assignees", "", "Save", {"assignees": "ann"}),
    ("/ann/demo/issues/1/milestone", "", "Save", {"milestone": "3"}),
    ("/ann/demo/issues/1/due", "", "Save", {"due": "2030-02-03"}),
    ("/ann/demo/issues/1/facts", "", "Add blocking issue", {"issue": "#7"}),
    ("/ann/demo/issues/1/facts", "", "Add time", {"hours": "2", "minutes": "30"}),
)  # fmt: skip
"""A page, the end of the address of a form on it, the button, and the fields to fill in."""
CHOICES = {
    f"{HOME}/issues/1": issue(pull_request={"merged": False},
                              labels=[{"id": 1, "name": "bug", "color": "ffffff"}]),
    "/users/bob": ANN_USER | {"login": "bob", "is_admin": False},
    f"{HOME}/labels": [{"id": 2, "name": "late", "color": "ffffff"}],
    f"{HOME}/milestones": [{"id": 3, "title": "One", "due_on": None}], f"{HOME}/assignees": [ANN_USER],
    f"{HOME}/teams": [
        {"id": 1, "name": "staff", "permission": "read", "description": "", "includes_all_repositories": False}
    ],
}  # fmt: skip


@pytest.mark.parametrize(("page", "end", "button", "fields"), FILLED)
async def test_what_somebody_filled_in_is_in_the_form_that_was_refused(
    pages, forge, page, end, button, fields
):
    forge.answers |= ANSWERS | CHOICES
    before = form_of((await pages.get(page, ROOT)).text, end or page, button)
    forge.refuses = 422
    sent = before.press(button, **fields)
    refused = await pages.post(page + end, sent, ROOT)
    assert refused.status_code == 422
    again = form_of(refused.text, end or page, button).press(button)
    assert again | {"token": sent["token"]} == sent


async def test_a_removal_that_was_refused_fills_in_no_other_form(pages, forge):
    forge.answers |= ANSWERS | {
        f"{HOME}/collaborators": [ANN_USER | {"login": "zoe"}],
        "/teams/1/members": [ANN_USER | {"login": "zoe"}],
        "/user/emails": [{"email": "a@b.example", "primary": False, "verified": True}],
    }
    forge.refuses = 422
    for page, button, other, name in (
        ("/ann/demo/settings/collaboration", "Remove", "Save", "login"),
        ("/org/crew/settings/teams/1", "Remove", "Add member", "login"),
        ("/user/settings/emails", "Remove", "Add address", "email"),
    ):
        refused = await pages.submit(page, button, to=page, caller=ROOT)
        assert (refused.status_code, form_of(refused.text, page, other).values[name]) == (422, [""])


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/org/crew/settings", {"do": "delete", "typed": "other"}),
        ("/admin/users/bob", {"do": "delete", "typed": "other"}),
        ("/ann/demo/settings/delete", {"name": "demo"}),
        ("/ann/demo/settings/transfer", {"name": "demo", "new_owner": "bob"}),
        ("/ann/demo/issues/1/comments", {"body": " "}),
        ("/ann/demo/milestones/1", {"do": "what"}),
        ("/ann/demo/settings/hooks/1", {"do": "what"}),
        ("/org/crew/settings/hooks/1", {"do": "what"}),
        ("/user/settings/hooks/1", {"do": "what"}),
    ],
)
async def test_a_form_that_says_nothing_to_do_is_refused_and_changes_nothing(pages, forge, path, fields):
    forge.answers |= ANSWERS
    refused = await pages.post(path, fields | {"token": pages.form_token(ANN, at=time.time())}, ANN)
    assert (refused.status_code, forge.sent) == (422, [])


async def test_a_form_that_comes_twice_changes_something_once(pages, forge):
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    path, text = "/ann/demo/issues/1/comments", {"body": "so"}

    def form():
        return text | {"token": pages.form_token(ANN, at=time.time())}

    first = form()
    answers = [await pages.post(path, first, ANN) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 409]
    assert "sent already; go back and load the page" in answers[1].text
    assert len(forge.sent) == 1
    assert (await pages.post(path, first | {"body": "more"}, ANN)).status_code == 303
    assert (await pages.post(path, form(), ANN)).status_code == 303

    refused = form()
    forge.refuses = 422
    assert (await pages.post(path, refused, ANN)).status_code == 422
    forge.refuses = 0
    assert (await pages.post(path, refused | {"preview": "1"}, ANN)).status_code == 200
    assert (await pages.post(path, refused, ANN)).status_code == 303


async def test_a_form_of_which_one_half_was_refused_does_not_do_the_other_half_again(pages, forge):
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    path, own = "/ann/demo/issues/1/comments", f"{HOME}/issues/1"
    form = {"body": "so", "state": "closed", "token": pages.form_token(ANN, at=time.time())}
    forge.refusals[own] = (403, b'{"message": "refused", "url": ""}')
    answers = [await pages.post(path, form, ANN) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [403, 409]
    assert [target for _, target, _ in forge.sent] == [f"{own}/comments", own]


async def test_a_secret_that_is_shown_once_is_not_made_twice(pages, forge):
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    form = {"name": "app", "redirect_uris": "http://x/", "token": pages.form_token(ANN, at=time.time())}
    answers = [await pages.post("/user/settings/oauth2", form, ANN) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 409]
