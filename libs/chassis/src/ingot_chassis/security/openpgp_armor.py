"""The armor of OpenPGP signatures. A library would also decompress data after the signature, to any size."""

import base64


def signature_packet(armored: bytes) -> bytes:
    """Return the first packet of an armored signature, without other packets. Raises ValueError."""
    return _first_packet(_dearmored(armored))


def _dearmored(text: bytes) -> bytes:
    """Decode the armor (RFC 9580, section 6.2) and ignore its checksum. Raises ValueError."""
    lines = [line.strip() for line in text.strip().splitlines()]
    start = lines.index(b"") if b"" in lines else 0
    encoded = [line for line in lines[start + 1 :] if line and not line.startswith((b"-----", b"="))]
    return base64.b64decode(b"".join(encoded), validate=True)


def _first_packet(data: bytes) -> bytes:
    """Return the signature packet (RFC 9580, section 4.2). Raises ValueError."""
    head = data[:1]
    if head == b"\xc2":
        first = int.from_bytes(data[1:2])
        if first < 192:
            start, length = 2, first
        elif first < 224:
            start, length = 3, ((first - 192) << 8) + int.from_bytes(data[2:3]) + 192
        else:
            start, length = 6, int.from_bytes(data[2:6])
    elif head in (b"\x88", b"\x89", b"\x8a"):
        start = 1 + (1 << (data[0] & 3))
        length = int.from_bytes(data[1:start])
    else:
        raise ValueError("no signature")
    if start + length > len(data):
        raise ValueError("cut short")
    return data[: start + length]
