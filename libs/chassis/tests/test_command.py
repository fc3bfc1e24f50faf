"""How commands end."""

import pytest
from litestar import Litestar

from ingot_chassis.command import run_command
from ingot_chassis.errors import CannotStart


async def fail(error):
    """As a command that uses the parts of a service does."""
    async with Litestar([]).lifespan():
        raise error


def test_what_an_operator_can_mend_is_one_line_while_an_app_runs(capsys):
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: fail(CannotStart("there is no shard b")))
    assert ended.value.code == 2
    assert capsys.readouterr().err == "ingot: there is no shard b\n"


def test_a_mistake_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError, match="ours"):
        run_command(lambda: fail(ZeroDivisionError("ours")))
