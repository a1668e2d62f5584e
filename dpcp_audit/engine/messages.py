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
    head = _exactly(descriptor, _HEAD)
    return None if head is None else _exactly(descriptor, int.from_bytes(head, "big"))


def take(received: bytearray) -> bytes | None:
    """Remove the first message from what was received, where it is all there."""
    end = _HEAD + int.from_bytes(received[:_HEAD], "big")
    if len(received) < max(_HEAD, end):
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
