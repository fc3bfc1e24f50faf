"""Templates of issues, and how issues are begun."""

from base64 import b64encode

import pytest

from ingot_repos.core.issue_forms import MOST_BYTES, InvalidForm, read_config, read_template

BUG = """---
name: Bug
about: It is broken
title: "[bug] "
labels: ["Kind/Bug", status]
assignees: ann, bob
---

What happened?
"""
FORM = b"""name: Idea
description: Something new
body:
  - type: markdown
    attributes: {value: Thanks}
  - type: input
    id: what
    attributes: {label: What, placeholder: x}
    validations: {required: true}
"""
CONFIG = """blank_issues_enabled: false
contact_links:
  - {name: Chat, url: "https://chat.example.org", about: Ask there}
"""
BROKEN = {
    "no head": b"just text",
    "no name": b"---\nabout: x\n---\ny",
    "an empty name": b"---\nname: ''\n---\ny",
    "no YAML": b"---\nname: [\n---\ny",
    "no mapping": b"---\n- x\n---\ny",
    "bytes": b"---\nname: \xff\n---\ny",
    "aliases": b"---\nname: &a x\ntitle: *a\n---\ny",
    "laughs": b"---\na: &a [x, x]\nb: &b [*a, *a]\nname: x\n---\ny",
    "deep": b"---\nname: " + b"[" * 10_000 + b"\n---\ny",
    "an object": b"---\nname: !!python/object/apply:os.system [id]\n---\ny",
    "a key that is a list": b"---\n? [a]\n: b\nname: x\n---\ny",
    "an odd date": b"---\nname: x\ntitle: 2026-99-99\n---\ny",
    "an odd field": b"---\nname: x\nbody: [{type: button}]\n---\ny",
    "a key that is a truth value": b"---\nname: x\nbody: [{type: input, attributes: {a: {on: x}}}]\n---\ny",
    "a key that is nothing": b"---\nname: x\nbody: [{type: input, validations: {a: [{~: x}]}}]\n---\ny",
    "a long number": b"---\nname: x\nbody: [{type: input, attributes: {a: " + b"1" * 5000 + b"}}]\n---\ny",
}
ODD = """name: Odd
body:
  - type: input
    attributes: {1: one, 1.5: x, 2026-01-02: 2026-01-02T03:04:05+23:59, a: [.nan, -.inf, 1e400], b: !!set {x}, c: !!binary AA==, d: !!omap [x: y]}
  - type: input
    attributes: {label: 123456789012345678901234567890}
"""


async def commit(person, files):
    entries = [
        {"operation": "create", "path": path, "content": b64encode(text.encode()).decode()}
        for path, text in files.items()
    ]
    answer = await person.post("/repos/ann/app/contents", {"files": entries, "message": "x"})
    assert answer.status_code == 201, answer.text


async def test_templates_come_from_the_default_branch(world, ann):
    await ann.create("app", auto_init=True)
    assert (await ann.get("/repos/ann/app/issue_templates")).json() == []
    files = {"bug.md": BUG, "idea.yaml": FORM.decode(), "broken.md": "x", "config.yml": CONFIG, "x.txt": "x"}
    await commit(ann, {f".github/ISSUE_TEMPLATE/{name}": text for name, text in files.items()})
    answer = await ann.get("/repos/ann/app/issue_templates")
    bug, idea = answer.json()
    assert answer.headers["x-gitea-warning"] == "1 issue templates cannot be read"
    assert (bug["name"], bug["about"], bug["title"]) == ("Bug", "It is broken", "[bug] ")
    assert (bug["labels"], bug["assignees"]) == (["Kind/Bug", "status"], ["ann", "bob"])
    assert (bug["content"], bug["file_name"]) == ("What happened?\n", ".github/ISSUE_TEMPLATE/bug.md")
    assert (idea["about"], [field["type"] for field in idea["body"]]) == (
        "Something new",
        ["markdown", "input"],
    )
    assert idea["body"][1]["validations"] == {"required": True}
    link = {"name": "Chat", "url": "https://chat.example.org", "about": "Ask there"}
    assert (await ann.get("/repos/ann/app/issue_config")).json() == {
        "blank_issues_enabled": False,
        "contact_links": [link],
    }
    assert (await ann.get("/repos/ann/app/issue_config/validate")).json() == {"valid": True, "message": ""}
    await commit(ann, {".gitea/ISSUE_TEMPLATE/config.yaml": "contact_links: [{name: x}]"})
    check = (await ann.get("/repos/ann/app/issue_config/validate")).json()
    assert (check["valid"], "url" in check["message"]) == (False, True)
    assert (await ann.get("/repos/ann/app/issue_config")).json() == {
        "blank_issues_enabled": True,
        "contact_links": [],
    }


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_template_is_refused(case):
    with pytest.raises(InvalidForm):
        read_template("x.md", BROKEN[case])


async def test_templates_that_json_cannot_say_are_counted_and_the_others_shown(world, ann):
    await ann.create("app", auto_init=True)
    broken = {f"{number}.md": text.decode() for number, text in enumerate(BROKEN.values()) if text.isascii()}
    files = broken | {"good.md": BUG, "odd.yaml": ODD}
    await commit(ann, {f".gitea/ISSUE_TEMPLATE/{name}": text for name, text in files.items()})
    answer = await ann.get("/repos/ann/app/issue_templates")
    assert answer.status_code == 200, answer.text
    assert "Bug" in [template["name"] for template in answer.json()]
    assert int(answer.headers["x-gitea-warning"].split()[0]) >= len(broken)


def test_a_form_that_is_too_large_is_refused():
    with pytest.raises(InvalidForm, match=str(MOST_BYTES)):
        read_config(None)
    assert read_config(b"").blank_issues_enabled is True
