"""The answer to a push: packets as git cuts them, and no path of this machine in them."""

from pathlib import Path

import pytest

from ingot_git.protocol.sideband import without_path

PATH = Path("/srv/ingot/repositories/ab/1.git")
TEXT = f"error: {PATH}/objects is bad, {PATH} and /srv/ingot/ too\rfatal: {PATH}".encode()
SHOWN = TEXT.replace(str(PATH).encode(), b"repository")


def packet(band: int, data: bytes) -> bytes:
    return b"%04x%c%s" % (len(data) + 5, band, data)


def texts_of(stream: bytes) -> bytes:
    """The texts for people."""
    texts = b""
    while stream:
        length = max(4, int(stream[:4], 16))
        part, stream = stream[:length], stream[length:]
        texts += part[5:] if part[4:5] == b"\x02" else b""
    return texts


async def shown(stream: bytes, size: int) -> bytes:
    async def chunks():
        for start in range(0, len(stream), size):
            yield stream[start : start + size]

    return b"".join([part async for part in without_path(chunks(), PATH)])


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("cut", [1, 10, 128])
async def test_the_path_is_replaced_wherever_packets_and_chunks_end(size, cut):
    report = packet(1, b"000eunpack ok\n")
    texts = [packet(2, TEXT[start : start + cut]) for start in range(0, len(TEXT), cut)]
    answer = await shown(b"".join([*texts, report, b"0000"]), size)
    assert texts_of(answer) == SHOWN
    assert answer.endswith(report + b"0000")


@pytest.mark.parametrize(
    "stream", [b"", b"0000", b"000eunpack ok\n0000", b"no packets", b"00", packet(1, b"x")]
)
async def test_other_answers_pass_as_they_are(stream):
    for size in (1, 1000):
        assert await shown(stream, size) == stream


async def test_a_text_without_an_end_is_not_kept_for_ever():
    long = packet(2, b"x" * 60_000)
    assert texts_of(await shown(long + long, 4096)) == b"x" * 120_000
