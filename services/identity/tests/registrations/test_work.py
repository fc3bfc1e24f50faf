"""The proof of work: what counts as one, and that the script of pages finds it."""

import asyncio
import shutil
from importlib.resources import files

import pytest

from ingot_chassis.errors import Invalid
from ingot_identity.passwords.store import MemoryValues
from ingot_identity.registrations.rules.work import LIFETIME_SECONDS, WorkChallenges, is_solution

from .visitors import BITS, solve

KEY = "key of the tests"


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def challenges(clock):
    return WorkChallenges(KEY, MemoryValues(900, clock=clock), bits=BITS, clock=clock)


async def code_of(challenges, challenge, answer):
    """The code of the refusal; empty if the answer is accepted."""
    try:
        await challenges.require(challenge, answer)
    except Invalid as error:
        return error.errors[0].code
    return ""


async def test_an_answer_counts_once(challenges):
    challenge = challenges.new()
    answer = solve(challenge)
    codes = [await code_of(challenges, challenge, answer) for _ in range(2)]
    assert codes == ["", "used"]
    assert await code_of(challenges, challenge, f"0{answer}") != ""


async def test_an_answer_counts_until_its_challenge_ends(challenges, clock):
    challenge = challenges.new()
    clock.now += LIFETIME_SECONDS
    assert await code_of(challenges, challenge, solve(challenge)) == "invalid"


async def test_a_challenge_of_another_server_or_an_easier_one_is_refused(challenges, clock):
    others = WorkChallenges("another key", MemoryValues(900), bits=BITS, clock=clock)
    easy = WorkChallenges(KEY, MemoryValues(900), bits=BITS - 1, clock=clock)
    bits, _, rest = challenges.new().partition(".")
    cheaper = f"{int(bits) - 1}.{rest}"
    later = challenges.new().replace(".1600.", ".9600.")
    for challenge in (others.new(), easy.new(), cheaper, later):
        assert await code_of(challenges, challenge, solve(challenge)) == "invalid"


@pytest.mark.parametrize(
    "challenge", ["", "4", "4.1.2.3", "x" * 9_000, "٤.1600." + "a" * 32 + "." + "a" * 64]
)
async def test_hostile_challenges_are_refused(challenges, challenge):
    assert await code_of(challenges, challenge, "1") == "invalid"


@pytest.mark.parametrize("answer", ["-1", "1e9", "\u0661", "1" * 17, " 1", "1\n"])
async def test_hostile_answers_are_refused(challenges, answer):
    assert await code_of(challenges, challenges.new(), answer) == "invalid"


async def test_a_wrong_answer_is_refused(challenges):
    challenge = challenges.new()
    wrong = next(str(number) for number in range(100) if not is_solution(challenge, str(number)))
    assert await code_of(challenges, challenge, wrong) == "invalid"
    assert await code_of(challenges, challenge, "") == "required"


async def test_no_work_is_asked_for_at_zero_bits(clock):
    challenges = WorkChallenges(KEY, MemoryValues(900), bits=0, clock=clock)
    assert (challenges.new(), await code_of(challenges, "", "")) == ("", "")


async def test_the_script_finds_an_answer(challenges, tmp_path):
    if (node := shutil.which("node")) is None:
        pytest.skip("node is not installed here")
    script = tmp_path / "work.mjs"
    script.write_bytes((files("ingot_identity.registrations") / "work.js").read_bytes())
    challenge = challenges.new()
    code = f"import {{solve}} from '{script}'; console.log(await solve('{challenge}'))"
    process = await asyncio.create_subprocess_exec(
        node, "--input-type=module", "-e", code, stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await process.communicate()
    assert await code_of(challenges, challenge, answer.decode().strip()) == ""
