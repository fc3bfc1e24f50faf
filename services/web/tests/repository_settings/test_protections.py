"""Rules for branches and tags as they are made, changed and removed on pages."""

import msgspec

from ..forge import HOME, MOMENT
from ..world import ANN

PAGE = "/ann/demo/settings/branches"
LISTS = (
    "push_whitelist", "force_push_allowlist", "merge_whitelist", "bypass_allowlist",
)  # fmt: skip
RULE = {
    "rule_name": "release/*", "branch_name": "release/*", "priority": 2, "required_approvals": 2,
    **{f"enable_{name}": True for name in (*LISTS, "push", "force_push", "status_check",
                                           "approvals_whitelist")},
    **{f"{name}_usernames": ["ann", "bob"] for name in LISTS},
    **{f"{name}_teams": ["crew"] for name in LISTS}, "push_whitelist_deploy_keys": True,
    "force_push_allowlist_deploy_keys": True, "status_check_contexts": ["test (ubuntu, 3.12)", "ci/c"],
    "approvals_whitelist_username": ["bob"], "approvals_whitelist_teams": [],
    **dict.fromkeys((
        "block_on_rejected_reviews", "block_on_official_review_requests", "block_on_outdated_branch",
        "dismiss_stale_approvals", "ignore_stale_approvals", "block_admin_merge_override",
        "require_signed_commits",
    ), True),
    "protected_file_patterns": "*.lock;deploy/**", "unprotected_file_patterns": "docs/**",
}  # fmt: skip
"""Everything that a rule of the API has."""
ON_THE_LIST = {**RULE, "created_at": MOMENT, "updated_at": MOMENT}


async def test_a_rule_that_is_saved_without_a_change_is_sent_whole_and_as_it_was(pages, forge):
    rule = f"{HOME}/branch_protections/release/*"
    forge.answers |= {f"{HOME}/branch_protections": [ON_THE_LIST], rule: ON_THE_LIST}
    listed = (await pages.get(PAGE, ANN)).text
    edit = f"{PAGE}/edit?rule_name=release%2F%2A"
    assert f'href="{edit}" aria-label="Change the rule release/*">Change</a>' in listed
    assert "by ann, bob, crew · 2 approvals · checks test (ubuntu, 3.12), ci/c · signed commits" in listed
    answer = await pages.submit(edit, "Save rule", to="rule_name=release%2F%2A")
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    names = {name: value for name, value in RULE.items() if name not in ("rule_name", "branch_name")}
    assert forge.sent == [("PATCH", rule, names)]


async def test_the_form_of_a_rule_has_every_field_that_the_api_has(pages, forge):
    await pages.submit(f"{PAGE}/edit", "Create rule", to="/branches/edit", rule_name="main")
    [(method, path, body)] = forge.sent
    assert (method, path) == ("POST", f"{HOME}/branch_protections")
    assert {*RULE} - {*body} == {"branch_name", "priority"}, "a rule without a priority gets the next one"
    assert body["required_approvals"] == 0
    assert {name for name, value in body.items() if value} == {"rule_name", "enable_push"}


async def test_a_refused_rule_is_shown_again_with_what_was_typed(pages, forge):
    fault = {"field": "merge_whitelist_usernames", "code": "unknown", "message": "there is no user 'x'"}
    answer = {"message": "refused", "url": "", "errors": [fault]}
    forge.refusals[f"{HOME}/branch_protections"] = (422, msgspec.json.encode(answer))
    shown = await pages.submit(
        f"{PAGE}/edit", "Create rule", to="/edit", rule_name="v/*", merge_whitelist_usernames="ann, x"
    )
    assert shown.status_code == 422
    for text in ('value="ann, x"', 'value="v/*"', 'id="merge_whitelist_usernames-fault"'):
        assert text in shown.text


async def test_a_number_that_is_none_is_left_to_the_api_to_refuse(pages, forge):
    await pages.submit(f"{PAGE}/edit", "Create rule", to="/edit", required_approvals="²", priority="")
    body = forge.sent[0][2]
    assert (body["required_approvals"], "priority" in body) == ("²", False)


async def test_numbers_of_a_rule_that_somebody_empties_are_0_or_refused(pages, forge):
    rule = f"{HOME}/branch_protections/main"
    forge.answers[rule] = ON_THE_LIST
    edit = f"{PAGE}/edit?rule_name=main"
    await pages.submit(edit, "Save rule", to="rule_name=main", required_approvals="")
    [(_, _, body)] = forge.sent
    assert (body["required_approvals"], body["priority"]) == (0, 2)
    refused = await pages.submit(edit, "Save rule", to="rule_name=main", priority="")
    assert (refused.status_code, 'id="priority-fault"' in refused.text, len(forge.sent)) == (422, True, 1)


async def test_a_rule_is_shown_although_repos_does_not_have_all_of_its_fields_yet(pages, forge):
    rule = {name: value for name, value in ON_THE_LIST.items() if "bypass" not in name}
    forge.answers[f"{HOME}/branch_protections/main"] = rule
    shown = await pages.get(f"{PAGE}/edit?rule_name=main", ANN)
    assert (shown.status_code, 'name="enable_bypass_allowlist"' in shown.text) == (200, True)


async def test_rules_for_tags_are_made_changed_and_removed(pages, forge):
    rule = {
        "id": 7,
        "name_pattern": "v*",
        "whitelist_usernames": ["ann"],
        "whitelist_teams": ["crew", "night watch"],
    }
    path = f"{HOME}/tag_protections"
    forge.answers |= {path: [rule], f"{path}/7": rule}
    tags = "/ann/demo/settings/tags"
    await pages.submit(f"{tags}/new", "Create rule", to="/tags/new", name_pattern="v*")
    await pages.submit(f"{tags}/7", "Save rule", to="/tags/7", name_pattern="w*")
    await pages.submit(PAGE, "Remove the rule v*", to="/tags/delete")
    same = {name: rule[name] for name in ("whitelist_usernames", "whitelist_teams")}
    assert forge.sent == [
        ("POST", path, {"name_pattern": "v*", "whitelist_usernames": [], "whitelist_teams": []}),
        ("PATCH", f"{path}/7", {"name_pattern": "w*", **same}),
        ("DELETE", f"{path}/7", {}),
    ]
    assert (await pages.get(tags)).headers["location"] == f"{PAGE}#tags"


async def test_a_rule_is_removed_or_it_is_said_why_not(pages, forge):
    forge.answers[f"{HOME}/branch_protections"] = [ON_THE_LIST]
    assert (await pages.submit(PAGE, "Remove the rule release/*", to="/branches/delete")).status_code == 303
    assert forge.sent == [("DELETE", f"{HOME}/branch_protections/release/*", {})]
    forge.failures[f"{HOME}/branch_protections/release/*"] = 409
    refused = await pages.submit(PAGE, "Remove the rule release/*", to="/branches/delete")
    assert (refused.status_code, "refused" in refused.text) == (409, True)
