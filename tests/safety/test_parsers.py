"""Parsers of what strangers send: any bytes are read or refused, never the end of the request."""

import asyncio
import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from litestar.datastructures import Headers

from ingot_chassis.http.ranges import RangeNotSatisfiable, has_etag, requested_range
from ingot_gateway.credentials import Credential, credential_of, split_query
from ingot_git.history.lfs_pointers import read_pointer
from ingot_git.process.errors import BodyRefused, InvalidName
from ingot_git.protocol.push_requests import read_push_commands
from ingot_hooks.payloads.rules.subscriptions import branch_matches
from ingot_repos.protection.rules.globs import InvalidPattern, compile_pattern, matches

from .guided_inputs import BEGINNINGS

EXAMPLES = settings(max_examples=60, deadline=None)
TEXT_OF_PATTERNS = st.text(alphabet="ab/*?[]{}!-,\\.é\0\n", max_size=40)
PACKET = st.one_of(
    st.just(b"0000"),
    st.binary(max_size=60),
    st.binary(max_size=60).map(lambda content: f"{len(content) + 4:04x}".encode() + content),
    st.text(alphabet="0123456789abcdefxyz /\0", max_size=90).map(
        lambda text: f"{len(text.encode()) + 4:04x}".encode() + text.encode()
    ),
)
CHANGE = st.tuples(st.integers(0, 200), st.integers(0, 8), st.binary(max_size=8))
"""The position of a change in an input, the number of replaced bytes, and their replacement."""


def changed(beginning: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    data = beginning
    for place, count, instead in changes:
        start = place % (len(data) + 1)
        data = data[:start] + instead + data[start + count :]
    return data


@pytest.mark.parametrize("parse", BEGINNINGS, ids=lambda parse: parse.__name__)
def test_what_guided_inputs_try_holds_for_any_bytes(parse):
    """Raises AssertionError, or what the parser does not promise."""
    parse(BEGINNINGS[parse])
    changes = st.lists(CHANGE, min_size=1, max_size=4)
    inputs = st.binary(max_size=300) | changes.map(partial(changed, BEGINNINGS[parse]))
    EXAMPLES(given(inputs)(parse))()


@EXAMPLES
@given(st.lists(st.lists(PACKET, max_size=4).map(b"".join), max_size=6))
def test_a_push_is_read_or_refused(chunks):
    async def body():
        for chunk in chunks:
            yield chunk

    async def read():
        push = await read_push_commands(body())
        return push, b"".join([part async for part in push.body])

    try:
        push, replayed = asyncio.run(read())
    except (BodyRefused, InvalidName):
        return
    assert replayed == b"".join(chunks)
    assert len(push.commands) <= replayed.count(b"refs") + replayed.count(b" ")


@EXAMPLES
@given(TEXT_OF_PATTERNS, st.text(alphabet="ab/.-é", max_size=60))
def test_a_pattern_of_protections_is_read_or_refused(pattern, name):
    try:
        compile_pattern(pattern)
    except InvalidPattern:
        return
    assert matches(pattern, name) in (True, False)


@EXAMPLES
@given(st.text(alphabet="ab/-.", min_size=1, max_size=60))
def test_a_name_without_signs_fits_itself_alone(name):
    assert matches(name, name)
    assert not matches(name, f"{name}x")


@EXAMPLES
@given(TEXT_OF_PATTERNS, st.text(alphabet="ab/.-é", max_size=60))
def test_a_filter_of_branches_decides_about_any_branch(pattern, branch):
    assert branch_matches(pattern, branch) in (True, False)


@EXAMPLES
@given(st.binary(max_size=120), st.binary(max_size=60), st.binary(max_size=30))
def test_any_credential_is_one_or_none(query, authorization, sudo):
    split = split_query(query)
    credential = credential_of(split, authorization, sudo)
    assert credential is None or isinstance(credential, Credential)
    if b"%" not in query:
        assert not re.search(rb"(^|&)(token|access_token|sudo)(=|&|$)", split.rest)


@EXAMPLES
@given(st.text(alphabet="bytes=-0123456789, ", max_size=50), st.integers(0, 10_000))
def test_a_part_of_a_file_is_inside_of_it(header, size):
    try:
        part = requested_range(Headers({"range": header}), '"x"', size)
    except RangeNotSatisfiable:
        return
    assert part is None or (0 <= part.start < part.stop <= size)


@EXAMPLES
@given(st.text(alphabet='W/"x*, ', max_size=30))
def test_any_list_of_etags_is_read(header):
    assert has_etag(Headers({"if-none-match": header}), '"x"') in (True, False)


@EXAMPLES
@given(st.binary(max_size=200).map(lambda tail: b"version https://git-lfs.github.com/spec/v1\n" + tail))
def test_a_pointer_of_lfs_is_one_or_none(data):
    pointer = read_pointer(data)
    assert pointer is None or pointer.size >= 0


@pytest.mark.parametrize("pattern", ["{" * 200, "*" * 500 + "x", "[" * 300, "{a,b}" * 40])
def test_patterns_that_would_explode_are_refused_or_quick(pattern):
    try:
        matches(pattern, "a" * 300)
    except InvalidPattern:
        return
