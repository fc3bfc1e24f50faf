"""Templates of issues, and how issues are begun."""

from base64 import b64encode

import pytest

from ingot_git.testing.builders import commit as commit_of
from ingot_git.testing.builders import set_branches
from ingot_repos.files.rules import (
    MOST_BYTES,
    MOST_PARTS,
    InvalidForm,
    PartBudget,
    read_config,
    read_template,
    read_templates,
)

from ..code_world import opened, repository_with_history

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
    "a tag": b"---\nname: x\ntitle: !!str y\n---\ny",
    "an odd field": b"---\nname: x\nbody: [{type: button}]\n---\ny",
    "a key that is a truth value": b"---\nname: x\nbody: [{type: input, attributes: {a: {on: x}}}]\n---\ny",
    "a key that is nothing": b"---\nname: x\nbody: [{type: input, validations: {a: [{~: x}]}}]\n---\ny",
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


HOSTILE = {
    "bomb": b"a: &a [x, x]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (one, one) for one in range(30)),
    "deep lists": b"name: " + b"[" * 60_000,
    "deep mappings": b"name: " + b"{a: " * 15_000,
    "a long integer": b"name: " + b"9" * 60_000,
    "a long integer of base 60": b"name: 1" + b":1" * 30_000,
    "a long fraction of base 60": b"name: 1" + b":1" * 30_000 + b".5",
    "no truth value": b"name: !!bool x",
    "no integer": b"name: !!int ''",
    "no fraction": b"name: !!float '-'",
    "no time": b"name: !!timestamp x",
    "no date": b"name: 2026-99-99",
    "an object": b"name: !!python/object/apply:os.system [id]",
    "a name of Python": b"name: !!python/name:os.system",
    "keys twice": b"name: a\nname: [b]\nname: c\nblank_issues_enabled: 1\nblank_issues_enabled: true",
    "NUL": b"name: a\0b",
    "no UTF-8": b"name: \xff\xfe",
    "half a character": b'name: "\\ud800"',
    "other documents": b"name: a\n---\nname: b\n...\n---\n[",
    "wrong types": b"name: [a]\nabout: {}\ntitle: 1\nlabels: {a: b}\nref: true\nbody: x\ncontact_links: [1]",
    "wrong types of fields": (
        b"name: a\nbody: [1, ~, [], {type: []}, {type: input, attributes: [], visible: 1}]"
    ),
    "keys that are no text": b"name: a\nbody: [{type: input, attributes: {1: x, ~: y, [a]: z}}]",
    "very many parts": b"name: a\nbody: [" + b"a," * 32_000 + b"]",
    "merges": b"name: a\n<<: [{name: b}, {<<: {<<: {name: c}}}]\n=: x",
    "nothing": b"",
}


async def test_no_pushed_file_fails_the_routes_that_read_it(world, ann):
    app = await repository_with_history(world, ann)
    repo = opened(world, app["id"])
    for case, content in HOSTILE.items():
        head = b"---\n" + content + b"\n---\ntext"
        files = {"config.yml": content, "a.yaml": content, "b.md": head, "c.md": BUG.encode()}
        tree = {f".github/ISSUE_TEMPLATE/{name}": data for name, data in files.items()}
        set_branches(repo, master=commit_of(repo, tree))
        for route in ("issue_config", "issue_config/validate", "issue_templates"):
            answer = await ann.get(f"/repos/ann/app/{route}")
            assert answer.status_code == 200, (case, route, answer.text)
        names = [template["name"] for template in answer.json()]
        assert "Bug" in names or case == "very many parts", case


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("12", 12), ("-12", -12), ("0", 0), ("1.5", 1.5), ("true", True), ("Off", False), ("~", None),
        ("", None),
        ("1:30", "1:30"), ("1:30.5", "1:30.5"), ("9" * 16, "9" * 16), ("0x1f", "0x1f"), ("012", "012"),
        (".inf", ".inf"),
        ("2026-01-02", "2026-01-02"), ("=", "="), ("'12'", "12"),
    ],
)  # fmt: skip
def test_a_value_is_what_json_has_or_text(value, expected):
    text = f"name: x\nbody: [{{type: input, attributes: {{a: {value}}}}}]"
    assert read_template("x.yaml", text.encode()).body[0].attributes == {"a": expected}


def test_all_templates_together_cost_no_more_than_a_bound():
    budget, honest = PartBudget(), read_templates({"a.yaml": FORM, "b.md": BUG.encode()})
    assert ([template.name for template in honest[0]], honest[1]) == (["Idea", "Bug"], 0)
    read_template("a.yaml", FORM, budget)
    assert MOST_PARTS - 100 < budget.left < MOST_PARTS
    for _ in range(5):
        with pytest.raises(InvalidForm, match="too many parts"):
            read_template("a.yaml", HOSTILE["very many parts"], budget)
    assert budget.left == -5  # each file but the first ended with its first part
    large = {f"{number}.yaml": b"name: a\nx: [" + b"a," * 15_000 + b"]" for number in range(3)}
    templates, broken = read_templates(large)
    assert (len(templates), broken) == (1, 2)
