"""Issue forms of a repository: fields of the page, their validation, and the text of the issue."""

import re
import time

import pytest
import re2

from ingot_contracts.testing.forms import form_of
from ingot_web.forms.rules.fields import Form
from ingot_web.issues.rules.issue_forms import MOST_FIELDS, MOST_PATTERNS, fields_of, problems_of, text_of

from ..forge import ANN_USER, HOME
from ..world import ANN

PAGE = "/ann/demo/issues/new"
ADDRESS = f"{PAGE}?template=bug.yaml"


def field(
    kind="input", label="Version", *, required=False, name="", visible=(), is_number=False, regex="", **more
):
    return {
        "type": kind,
        "id": name,
        "attributes": {"label": label, **more},
        "validations": {"required": required, "is_number": is_number, "regex": regex},
        "visible": list(visible),
    }


FIELDS = [
    field("markdown", "", value="**Thank** you"),
    field(required=True, name="version", placeholder="1.0", description="As *it* says"),
    field("textarea", "Log", name="log", render="sh"),
    field("dropdown", "System", name="system", options=["a", "b"], default=1),
    field("dropdown", "Parts", multiple=True, options=["x", "y", "z"]),
    field(
        "checkboxes",
        "Terms",
        name="terms",
        options=[{"label": "Agreed", "required": True}, {"label": "Mail"}],
    ),
]
TEMPLATE = {
    "name": "Bug", "about": "", "title": "Bug: ", "labels": ["bug"], "assignees": ["ann"], "ref": "",
    "content": "", "body": FIELDS, "file_name": "bug.yaml",
}  # fmt: skip


@pytest.fixture
def forge(forge):
    forge.changed = {"number": 2, "body": ""}
    forge.answers |= {
        f"{HOME}/issue_templates": [TEMPLATE],
        f"{HOME}/labels": [{"id": 3, "name": "bug", "color": "ff0000"}],
        f"{HOME}/assignees": [ANN_USER],
    }
    return forge


def template(*fields):
    return fields_of({"body": list(fields)})


def composed(*fields, **answers):
    pairs = [(f"field-{name}", one) for name, all_ in answers.items() for one in all_]
    return text_of(template(*fields), Form(pairs))


async def test_each_question_is_a_field_and_the_text_is_composed_of_the_answers(pages, forge):
    forge.html = {"**Thank** you": "<p><b>Thank</b> you</p>", "As *it* says": "<p>As <em>it</em> says</p>\n"}
    shown = (await pages.get(ADDRESS, ANN)).text
    assert "<b>Thank</b> you" in shown
    assert 'id="field-version-hint">As <em>it</em> says</p>' in shown
    assert 'placeholder="1.0" autocomplete="off" required' in shown
    assert len(forge.rendered) == 1
    form = form_of(shown, PAGE, "Create issue")
    assert form.values["field-system"] == ["b"]
    assert (form.values["labels"], form.values["assignees"]) == (["3"], ["ann"])
    await pages.submit(
        shown,
        "Create issue",
        to=PAGE,
        **{
            "title": "Bug: dark",
            "field-version": "1.2",
            "field-log": "one\r\n```\r\n",
            "field-4.": ["z", "x"],
            "field-terms": ["Agreed"],
        },
    )
    [(_, path, sent)] = forge.sent
    assert (path, sent["title"], sent["labels"], sent["assignees"]) == (
        f"{HOME}/issues",
        "Bug: dark",
        [3],
        ["ann"],
    )
    assert sent["body"] == (
        "### Version\n\n1.2\n\n### Log\n\n````sh\none\n```\n````\n\n### System\n\nb\n\n### Parts\n\nx, z\n\n"
        "### Terms\n\n- [x] Agreed\n- [ ] Mail\n\n"
    )


async def test_a_missing_answer_is_said_next_to_its_field_and_the_others_stay(pages, forge):
    refused = await pages.submit(
        ADDRESS, "Create issue", to=PAGE, **{"field-log": "so", "field-system": "", "field-4.": ["y"]}
    )
    assert (refused.status_code, forge.sent) == (422, [])
    assert 'id="field-version-fault">Fill in this field</p>' in refused.text
    assert '<p class="fault">Select: Agreed</p>' in refused.text
    assert re.findall(r'id="([^"]*)"[^>]* autofocus', refused.text) == ["field-version"]
    values = form_of(refused.text, PAGE, "Create issue").values
    answers = {name: values[name] for name in ("field-log", "field-system", "field-4.", "template", "title")}
    assert answers == {
        "field-log": ["so"],
        "field-system": [""],
        "field-4.": ["y"],
        "template": ["bug.yaml"],
        "title": ["Bug: "],
    }


async def test_browsers_check_the_pattern_of_a_field(pages, forge):
    forge.answers[f"{HOME}/issue_templates"] = [TEMPLATE | {"body": [field(name="a", regex='"[0-9]+')]}]
    shown = (await pages.get(ADDRESS, ANN)).text
    assert ' pattern="&#34;[0-9]+" title="In the format &#34;[0-9]+"' in shown


async def test_a_refused_form_names_the_files_to_choose_again(pages, forge):
    form = form_of((await pages.get(ADDRESS, ANN)).text, PAGE, "Create issue").press("Create issue")
    files = [("files", (name, b"night", "image/png")) for name in ("a<b>.png", "c.txt")]
    refused = await pages.client.post(PAGE, data=form, files=files, headers=pages.callers.headers(ANN))
    assert refused.status_code == 422
    words = "Choose these files again, they were not sent: a&lt;b&gt;.png, c.txt"
    assert words in refused.text
    assert "Choose these files again" not in (await pages.get(ADDRESS, ANN)).text


async def test_scripts_do_not_send_an_issue_form_whose_answer_is_a_page(pages, forge):
    forge.answers[f"{HOME}/issue_templates"] += [TEMPLATE | {"body": [], "file_name": "plain.md"}]
    sent_by_htmx = {}
    for name in ("bug.yaml", "plain.md"):
        shown = (await pages.get(f"{PAGE}?template={name}", ANN)).text
        sent_by_htmx[name] = bool(re.search(rf'<form [^>]*action="{PAGE}"[^>]* hx-post="{PAGE}"', shown))
    assert sent_by_htmx == {"bug.yaml": False, "plain.md": True}


async def test_a_refusal_of_issues_keeps_the_answers(pages, forge):
    forge.refuses = 422
    answers = {"field-version": "1", "field-terms": ["Agreed"]}
    refused = await pages.submit(ADDRESS, "Create issue", to=PAGE, **answers)
    values = form_of(refused.text, PAGE, "Create issue").values
    assert (values["field-version"], values["field-terms"]) == (["1"], ["Agreed"])


async def test_answers_stay_when_the_form_was_changed_meanwhile(pages, forge):
    shown = (await pages.get(ADDRESS, ANN)).text
    forge.answers[f"{HOME}/issue_templates"] = []
    refused = await pages.submit(shown, "Create issue", to=PAGE, **{"field-version": "1", "field-log": "so"})
    assert (refused.status_code, forge.sent) == (409, [])
    [body] = form_of(refused.text, PAGE, "Create issue").values["body"]
    assert body.replace("\r\n", "\n") == "1\n\nso\n\nb"


async def test_a_link_fills_in_answers(pages, forge):
    shown = (await pages.get(f"{ADDRESS}&version=2%22&system=a", ANN)).text
    values = form_of(shown, PAGE, "Create issue").values
    assert (values["field-version"], values["field-system"]) == (['2"'], ["a"])


@pytest.mark.parametrize(
    ("question", "answers", "problem"),
    [
        (field(required=True, name="a"), [" "], "Fill in this field"),
        (field(required=True, name="a"), ["1"], None),
        (field("textarea", required=True, name="a"), ["\n"], "Fill in this field"),
        (field("dropdown", required=True, name="a", options=["x"]), ["other"], "Select an option"),
        (field("dropdown", required=True, name="a", options=["x"]), ["x"], None),
        (field(is_number=True, name="a"), ["many"], "Write a number"),
        (field(is_number=True, name="a"), ["1" * 400], "Write a number"),
        (field(is_number=True, name="a"), ["-1.5"], None),
        (field(is_number=True, name="a"), [], None),
        (field(required=True, name="a", visible=["content"]), [], None),
        (field(name="a", regex="[0-9]+"), ["v1"], "Write it in the format [0-9]+"),
        (field(name="a", regex="[0-9]+"), ["12"], None),
        (field(name="a", regex="[0-9]+"), [], None),
        (field("textarea", name="a", regex="[0-9]+"), ["v1"], None),
        (field(name="a", regex="(?=1)."), ["v1"], None),
        (field(name="a", regex="(a*)*b"), ["a" * 1_000], "Write it in the format (a*)*b"),
        (field(name="a", regex="a*"), ["a" * 1_001], "Write at most 1,000 characters"),
        (field(name="a"), ["a" * 1_001], None),
        (field(name="a", regex="((.?){300}){30}b"), ["a"], None),
        (field(name="a", regex="[0-9]" * 300), ["v1"], None),
        (field(name="a", regex=["[0-9]"]), ["v1"], None),
    ],
)
def test_answers_are_validated(question, answers, problem):
    problems = problems_of(template(question), Form([("field-a", one) for one in answers]))
    assert problems.get("field-a") == problem


def test_patterns_of_a_form_take_bounded_time_and_memory():
    questions = [field(name=f"a{number}", regex=f"(.*)(.?){{900}}x{number}") for number in range(MOST_FIELDS)]
    fields = template(*questions)
    assert sum(bool(one.pattern) for one in fields) == MOST_PATTERNS
    form = Form([(one.name, "\U0001f600" * 1_000) for one in fields])
    begin = time.process_time()
    problems = problems_of(fields, form)
    assert time.process_time() - begin < 3.0
    assert list(problems) == [one.name for one in fields[:MOST_PATTERNS]]
    assert re2._Regexp._make.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("question", "answers", "text"),
    [
        (field(name="a"), [], "### Version\n\n_No response_\n\n"),
        (field(name="a", label="a\n# b"), ["1"], "### a # b\n\n1\n\n"),
        (field(name="a", hide_label=True), ["1"], "1\n\n"),
        (field(name="a", visible=["form"]), ["1"], ""),
        (field("markdown", name="a", value="so", visible=["content"]), [], "so\n\n"),
        (field("markdown", name="a", value="so"), [], ""),
        (field("dropdown", name="a", options=["x", "y"]), ["y", "x"], "### Version\n\nx\n\n"),
        (
            field("dropdown", name="a", options=["x", "y"], multiple=True, list=True),
            ["x", "y"],
            "### Version\n\n- x\n- y\n\n",
        ),
        (
            field("checkboxes", name="a", options=[{"label": "x"}, {"label": "y", "visible": ["form"]}]),
            ["x"],
            "### Version\n\n- [x] x\n\n",
        ),
        (field("textarea", name="a", render="a`\nb"), ["1"], "### Version\n\n```a\n1\n```\n\n"),
    ],
)
def test_the_text_is_composed_as_gitea_does(question, answers, text):
    assert composed(question, a=answers) == text


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"label": ["x"], "options": "none", "multiple": "yes", "default": True},
        {"label": {"a": 1}, "options": [None, [], {"label": None}, 7], "default": 99, "value": {}},
    ],
)
@pytest.mark.parametrize("kind", ["markdown", "input", "textarea", "dropdown", "checkboxes"])
async def test_attributes_of_a_wrong_kind_are_ignored(pages, forge, kind, attributes):
    broken = {"type": kind, "id": "", "attributes": attributes}
    forge.answers[f"{HOME}/issue_templates"] = [TEMPLATE | {"body": [broken, broken]}]
    done = await pages.submit(ADDRESS, "Create issue", to=PAGE)
    assert done.status_code == 303


def test_fields_with_one_id_have_names_of_their_own():
    names = [one.name for one in template(field(name="a"), field(name="a"), field(name="a b"), field())]
    assert names == ["field-a", "field-1.", "field-2.", "field-3."]
