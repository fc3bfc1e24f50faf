"""A process for hostile input: it ends when a question has had its time, and answers the next one."""

import base64
import os
import signal
import sys
import textwrap
from threading import Thread

import pytest

from ingot_chassis.cpu_process import CpuProcess, ProcessBusy

WAIT = 30
MODULE = """
    import os, time
    from ingot_chassis.cpu_process import answer_questions, deadline

    def answer(question: bytes) -> bytes:
        if question == b"environment":
            return ",".join(os.environ).encode()
        if question == b"memory":
            bytearray(2 << 30)
        with deadline(0.2):
            end = time.process_time() + float(question)
            while time.process_time() < end:
                pass
        return b"used " + question

    answer_questions(answer)
"""


@pytest.fixture
def process(tmp_path, monkeypatch):
    """One that uses as many seconds of CPU as a question says, of at most 0.2."""
    process = CpuProcess("module_of_test")
    module = base64.b64encode(textwrap.dedent(MODULE).encode()).decode()
    starter = tmp_path / "python"
    starter.write_text(
        f"#!{sys.executable}\nimport base64\nexec(base64.b64decode('{module}').decode())\n", "utf-8"
    )
    starter.chmod(0o755)
    monkeypatch.setattr("ingot_chassis.cpu_process.sys.executable", str(starter))
    yield process
    process.close()


def test_a_question_is_answered_by_the_same_process(process):
    assert process.ask(b"0", wait=WAIT) == b"used 0"
    first = process._process.pid
    assert process.ask(b"0.01", wait=WAIT) == b"used 0.01"
    assert process._process.pid == first


def test_a_question_beyond_its_time_has_no_answer_and_the_next_one_has(process):
    assert process.ask(b"1000000", wait=WAIT) is None
    assert process.ask(b"0", wait=WAIT) == b"used 0"


def test_a_process_that_was_killed_or_fails_is_started_again(process):
    process.ask(b"0", wait=WAIT)
    os.kill(process._process.pid, signal.SIGKILL)
    process._process.wait()
    assert process.ask(b"0", wait=WAIT) == b"used 0"
    assert process.ask(b"memory", wait=WAIT) is None
    assert process.ask(b"0", wait=WAIT) == b"used 0"


def test_it_learns_no_setting_of_the_service(process, monkeypatch):
    monkeypatch.setenv("INGOT_SEALING_KEY", "secret")
    assert b"INGOT" not in process.ask(b"environment", wait=WAIT)


def test_a_question_waits_so_long_for_others(process):
    process._lock.acquire()
    other = []

    def ask() -> None:
        try:
            process.ask(b"0", wait=0.01)
        except ProcessBusy as error:
            other.append(error)

    thread = Thread(target=ask)
    thread.start()
    thread.join()
    process._lock.release()
    assert len(other) == 1
    assert process.ask(b"0", wait=0.01) == b"used 0"
