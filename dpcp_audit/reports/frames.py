"""Frames: messages of known length between a run and its cells."""

from __future__ import annotations

import os

_HEAD = 8


def write(descriptor: int, message: bytes) -> None:
    """Write a message, all of it."""
    waiting = memoryview(len(message).to_bytes(_HEAD, "big") + message)
    while waiting:
        waiting = waiting[os.write(descriptor, waiting) :]


def read(descriptor: int) -> bytes | None:
    """Wait for a message; None where the other side has gone."""
    received = bytearray()
    while (message := take(received)) is None:
        part = os.read(descriptor, 2**20)
        if not part:
            return None
        received += part
    return message


def take(received: bytearray) -> bytes | None:
    """Remove the first message from what was received, where it is all there."""
    end = _HEAD + int.from_bytes(received[:_HEAD], "big")
    if len(received) < max(_HEAD, end):
        return None
    message = bytes(received[_HEAD:end])
    del received[:end]
    return message
