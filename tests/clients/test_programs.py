"""The runner of client programs, and those that need only git and the development environment."""

import re
import shutil

import pytest

from . import run
from .program import Check, Outcome, Program, parse_go, parse_tap

QUICK = ("git", "pygit2")
BY_NAME = {program.name: program for program in run.programs()}


def program_of(outcomes: str, *, left_out: dict[str, str]) -> Program:
    return Program(
        name="git",
        version="1",
        registry="npm",
        runs="checks",
        install=lambda _folder: None,
        run=lambda _folder, _instance: parse_tap(outcomes),
        left_out=left_out,
    )


def test_quick_programs_pass(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("there is no git on PATH")
    reports = list(run.run_all([BY_NAME[name] for name in QUICK]))
    assert [line for report in reports for line in report.rest()] == []
    assert all(report.count(Outcome.PASSED) >= 9 for report in reports)


def test_the_page_has_a_row_for_each_program_in_order():
    table = run.PAGE.read_text().partition("<!-- begin programs -->")[2].partition("<!-- end programs -->")[0]
    rows = [run.name_of(line) for line in table.strip().splitlines()[2:]]
    assert rows == list(BY_NAME)


def test_the_page_names_every_check_that_is_left_out():
    page = run.PAGE.read_text()
    missing = [
        (program.name, check)
        for program in BY_NAME.values()
        for check in program.left_out
        if f"| {program.name} | {check} | left out |" not in page
    ]
    assert missing == []


def test_versions_are_exact():
    for program in BY_NAME.values():
        assert program.version == "—" or re.match(r"\d+\.\d+", program.version), program.name


def test_tap_is_read_with_reasons():
    assert parse_tap("noise\nok - one\nnot ok - two # because of it\n") == [
        Check("one", Outcome.PASSED),
        Check("two", Outcome.FAILED, "because of it"),
    ]


def test_go_tests_are_read_with_what_they_skip():
    checks = parse_go("--- PASS: TestA (0.1s)\n--- SKIP: TestB (0.0s)\n--- FAIL: TestC (0.0s)\n")
    assert [(check.name, check.outcome) for check in checks] == [
        ("TestA", Outcome.PASSED),
        ("TestB", Outcome.LEFT_OUT),
        ("TestC", Outcome.FAILED),
    ]


def test_a_check_that_is_left_out_and_passes_fails():
    program = program_of("ok - one\nnot ok - two # x\n", left_out={"one": "no wiki", "two": "no wiki"})
    one, two = program.checks(None, None)
    assert (one.outcome, two.outcome) == (Outcome.FAILED, Outcome.LEFT_OUT)


def test_a_program_without_checks_fails():
    (check,) = program_of("", left_out={}).checks(None, None)
    assert check.outcome is Outcome.FAILED


def test_writing_replaces_the_rows_of_a_program_and_keeps_others():
    page = (
        "<!-- begin programs -->\n| a |\n|---|\n| dulwich | old |\n| git | old |\n<!-- end programs -->\n"
        "<!-- begin checks -->\n| a |\n|---|\n| git | old |\n<!-- end checks -->\n"
    )
    report = run.Report(
        program_of("", left_out={}), [Check("x|y", Outcome.FAILED, "see http://127.0.0.1:1/ now")]
    )
    written = run.write([report], page)
    assert "| dulwich | old |\n| git | 1 | npm | checks | 0 | 1 | 0 | |\n" in written
    assert "| git | x\\|y | failed | see … now |" in written
    assert "| git | old |" not in written
