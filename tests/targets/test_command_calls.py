"""Programs as targets: the protocol, and every way to break it is told and never waited for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.programs import SCORES, drawn, opened_programs, refusal
from support.waiting import PATIENCE, ended

from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    TargetRaisedError,
    TargetSpec,
    TargetUnusableError,
    process,
)
from dpcp_audit.targets.calls import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dpcp_audit.targets import Target


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    yield from opened_programs(tmp_path)


def test_a_request_carries_what_is_needed(program) -> None:
    target = program(
        "assert r['protocol'] == 1 and r['kind'] == 'quantile'\n"
        "assert 0 <= r['seed'] < 2**31 and r['options'] == {'epsilon': 0.5}\n"
        "assert set(r) == {'protocol', 'id', 'kind', 'size', 'seed', 'options', 'scores'}\n"
        "reply(r, [r['scores'][0]] * r['size'])",
        options={"epsilon": 0.5},
    )
    assert drawn(target).tolist() == [0.75] * 3


def test_each_kind_carries_its_data(program) -> None:
    calibrator = program(
        "assert len(r['labels']) == 2\nreply(r, [r['probabilities'][0][r['labels'][0]]])",
        kind=Kind.CALIBRATOR,
    )
    assert drawn(calibrator, (np.array([[0.75, 0.25], [0.5, 0.5]]), [1, 0]), 1).tolist() == [0.25]
    randomizer = program(
        "reply(r, [(x + 1) % r['domain'] for x in r['inputs']])", kind=Kind.RANDOMIZER, domain=5
    )
    assert drawn(randomizer, 4, 1000).tolist() == [0.0] * 1000


def test_numbers_arrive_as_they_are(program) -> None:
    scores = np.array([0.1, 1 / 3, 5e-324, 1e308, -2.0])
    target = program("reply(r, r['scores'])", bounds=(-2, 2))
    assert drawn(target, scores, 5).tolist() == scores.tolist()


def test_long_batches_take_several_requests_with_seeds_of_their_own(program) -> None:
    target = program(
        "reply(r, [r['seed'] + r['size'] / 1000] * r['size'])", randomness=RandomStyle.SEED
    )
    outputs = drawn(target, size=2 * BATCH + 3)
    sizes = np.round(1000 * (outputs % 1)).astype(int)
    assert sizes.tolist() == [BATCH] * (2 * BATCH) + [3] * 3
    assert len(set(outputs)) == 3
    assert np.array_equal(outputs, drawn(target, size=2 * BATCH + 3))
    assert not np.array_equal(outputs, drawn(target, size=2 * BATCH + 3, seed=1))


def test_one_process_answers_all_requests(program) -> None:
    target = program("reply(r, [os.getpid()] * r['size'])")
    assert len(set(np.concatenate([drawn(target) for _ in range(3)]))) == 1


def test_infinities_and_numbers_come_as_texts_too(program) -> None:
    target = program("""reply(r, ["inf", "-Inf", "+Infinity", "0.25", float("inf"), 1])""")
    expected = [np.inf, -np.inf, np.inf, 0.25, np.inf, 1.0]
    assert drawn(target, size=6).tolist() == expected


def test_requests_and_replies_longer_than_a_pipe(program) -> None:
    """Both ends write at once: neither may wait for the other."""
    scores = np.linspace(0, 1, 50_000)
    body = "sys.stderr.write('x' * 500_000)\nreply(r, [sum(r['scores']) + 1e-9 * len(' ' * 9)])"
    target = program(body + "\nsys.stderr.write('y\\n' * 500_000)")
    for _ in range(3):
        assert drawn(target, scores, 1)[0] == pytest.approx(scores.sum())


def test_a_reply_while_the_request_is_still_being_written(tmp_path) -> None:
    """A megabyte of stdout before stdin is read; then a short reply to a whole request."""
    path = tmp_path / "early.py"
    path.write_text(
        "import json, sys\n"
        "reply = {'id': 1, 'values': [0.5], 'noise': 'x' * 1_000_000}\n"
        "print(json.dumps(reply), flush=True)\n"
        "lengths = [len(json.loads(line)['scores']) for line in (input(), input())]\n"
        "print(json.dumps({'id': 2, 'values': [lengths[1]]}), flush=True)\n"
        "input()\n",
        encoding="utf-8",
    )
    spec = TargetSpec(kind=Kind.QUANTILE, command=(sys.executable, "-I", "-S", str(path)))
    with spec.open() as target:
        assert drawn(target, np.linspace(0, 1, 50_000), 1).tolist() == [0.5]
        assert drawn(target, np.linspace(0, 1, 50_000), 1).tolist() == [50_000]


def test_a_program_that_is_not_there(tmp_path) -> None:
    target = TargetSpec(kind=Kind.QUANTILE, command=("no-such-program-here", "x")).open()
    message = refusal(target, TargetUnusableError)
    assert "cannot be started: No such file or directory ('no-such-program-here')" in message
    text = tmp_path / "not_executable"
    text.write_text("", encoding="utf-8")
    target = TargetSpec(kind=Kind.QUANTILE, command=(str(text),)).open()
    assert "cannot be started: Permission denied" in refusal(target, TargetUnusableError)


def test_no_shell_reads_the_command(tmp_path) -> None:
    trap = tmp_path / "trap"
    command = ("echo", "hello;", "touch", str(trap))
    spec = TargetSpec(kind=Kind.QUANTILE, command=command)
    with spec.open() as target:
        assert "printed 'hello; touch" in refusal(target, TargetUnusableError)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "sys.stderr.write('warming up\\nno licence\\n\\n'); sys.exit(3)",
            "until its stdin ends; last line of its stderr: 'no licence'",
        ),
        (
            "sys.exit(3)",
            "ended with exit code 3 after 0 replies; it must answer every line until its stdin",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV after 0 replies"),
        (
            'sys.stdout.write(\'{"id": 1, "va\'); sys.stdout.flush(); os._exit(1)',
            'ended with exit code 1 in the middle of a reply, \'{"id": 1, "va\' after 0 replies',
        ),
        ("raise ValueError('too few scores')", "'ValueError: too few scores'"),
    ],
)
def test_a_program_that_dies_gives_no_answer(program, body, words, monkeypatch) -> None:
    monkeypatch.setattr(process, "_GRACE", PATIENCE)  # the system may take its time to end it
    assert words in refusal(program(body), TargetRaisedError)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(0)", "ended with exit code 0 after 0 replies"),
        ("send('hello')", "printed 'hello', which is no JSON; stdout is for replies alone"),
        ("send('')", "printed '', which is no JSON"),
        ("send('3')", "replied '3', which must be an object with 'id' and 'values'"),
        ("send('{\"id\": 1}')", "which must be an object with 'id' and 'values'"),
        ("r['id'] += 1; reply(r, [1, 1, 1])", "replied to request 2, not to 1: one reply for each"),
        ("reply(r, [1, 1])", "an array of shape (2,) where the shape must be (3,)"),
        ("reply(r, 1)", "returned one number where the shape must be (3,)"),
        ("reply(r, 'abc')", "returned the text 'abc', not 3 numbers"),
        ("reply(r, [1, None, 1])", "returned None, not a number"),
        ("reply(r, [1, True, 1])", "returned True, not a number"),
        ("reply(r, [1, 'high', 1])", "returned 'high' among its values, not a number"),
        ("reply(r, [1, [2], 1])", "returned a list of 1, not a number"),
        ("send(chr(255) * 3)", "which is no JSON"),
    ],
)
def test_what_is_no_reply_is_refused_by_name(program, body, words) -> None:
    assert words in refusal(program(body), TargetUnusableError)


@pytest.mark.parametrize("value", ["float('nan')", "'NaN'"])
def test_nan_is_refused(program, value) -> None:
    with pytest.raises(TargetUnusableError, match="returned NaN in draw 2 of 3"):
        drawn(program(f"reply(r, [1, {value}, 1])"))


def test_a_report_outside_the_domain_is_refused(program) -> None:
    target = program("reply(r, [5 for x in r['inputs']])", kind=Kind.RANDOMIZER, domain=5)
    with pytest.raises(TargetUnusableError, match=r"returned 5 .* integer in 0\.\.4"):
        drawn(target, 1)


def test_a_reported_error_leaves_the_program_running(program) -> None:
    target = program(
        "if len(r['scores']) < 3: send(json.dumps({'id': r['id'], 'error': 'at least\\n3'}))\n"
        "else: reply(r, [os.getpid()] * r['size'])"
    )
    before = drawn(target)[0]
    with pytest.raises(TargetRaisedError, match="reported an error: at least 3; asked for 3 draws"):
        drawn(target, SCORES[:2])
    assert drawn(target)[0] == before


def test_a_program_that_died_is_started_again(program) -> None:
    target = program("os._exit(1) if len(r['scores']) < 3 else reply(r, [os.getpid()] * r['size'])")
    before = drawn(target)[0]
    with pytest.raises(TargetRaisedError, match="exit code 1 after 1 replies"):
        drawn(target, SCORES[:2])
    assert drawn(target)[0] != before


def test_a_program_that_talked_nonsense_is_started_afresh(program) -> None:
    target = program("send('x') if len(r['scores']) < 3 else reply(r, [os.getpid()] * r['size'])")
    before = drawn(target)[0]
    with pytest.raises(TargetUnusableError, match="printed 'x'"):
        drawn(target, SCORES[:2])
    assert drawn(target)[0] != before
    assert ended(int(before))


def test_a_program_for_one_request_only_is_told(program) -> None:
    target = program("reply(r, [1] * r['size']); sys.exit()")
    drawn(target)
    with pytest.raises(TargetUnusableError, match="exit code 0 after 1 replies; it must answer ev"):
        drawn(target)


def test_lines_that_nobody_asked_for_are_seen(program) -> None:
    target = program("reply(r, [1] * r['size']); send('done')")
    drawn(target)
    with pytest.raises(TargetUnusableError, match="printed 'done', which is no JSON"):
        drawn(target)
