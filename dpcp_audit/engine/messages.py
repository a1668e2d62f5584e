"""Frames: messages of known length between a run and its cells, and seals on replies.

The code under audit runs in the cell's process and can write to whatever that has open. A reply
is sealed with a key that its request brought: bytes that the code writes for a reply are refused.
Code that searches the process's memory for the key is not kept from it.
"""

from __future__ import annotations

import hmac
import os

_HEAD = 8
_SEAL = "sha256"
_SEAL_BYTES = 32
_LONGEST = 2**32


class ForgedError(ValueError):
    """Bytes that are no reply to the request."""


def sealed(key: bytes, message: bytes) -> bytes:
    """Return the message with a seal that its key alone can make."""
    return hmac.digest(key, message, _SEAL) + message


def opened(key: bytes, reply: bytes) -> bytes:
    """Return the message that was sealed.

    Raises
    ------
    ForgedError
        If the seal is not that of the message and the key.
    """
    seal, message = reply[:_SEAL_BYTES], reply[_SEAL_BYTES:]
    if not hmac.compare_digest(seal, hmac.digest(key, message, _SEAL)):
        raise ForgedError("seal must be that of the message")
    return message


def write(descriptor: int, message: bytes) -> None:
    """Write a message, all of it."""
    waiting = memoryview(len(message).to_bytes(_HEAD, "big") + message)
    while waiting:
        waiting = waiting[os.write(descriptor, waiting) :]


def read(descriptor: int) -> bytes | None:
    """Wait for a message; None where the other side has gone."""
    head = _exactly(descriptor, _HEAD)
    return None if head is None else _exactly(descriptor, int.from_bytes(head, "big"))


def take(received: bytearray) -> bytes | None:
    """Remove the first message from what was received, where it is all there.

    Raises
    ------
    ForgedError
        If it claims to be longer than any reply.
    """
    if len(received) < _HEAD:
        return None
    end = _HEAD + int.from_bytes(received[:_HEAD], "big")
    if end > _LONGEST:
        raise ForgedError(f"a message must be shorter than {_LONGEST} bytes")
    if len(received) < end:
        return None
    message = bytes(received[_HEAD:end])
    del received[:end]
    return message


def _exactly(descriptor: int, size: int) -> bytes | None:
    received = bytearray()
    while len(received) < size:
        part = os.read(descriptor, size - len(received))
        if not part:
            return None
        received += part
    return bytes(received)
