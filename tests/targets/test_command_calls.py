"""Programs as targets: the protocol, and every way to break it is told and never waited for."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    Target,
    TargetError,
    TargetRaisedError,
    TargetSpec,
    TargetUnusableError,
)
from dpcp_audit.targets.command_calls import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
SCORES = np.array([0.75, 0.25, 0.5])
HEAD = """\
import json, os, signal, subprocess, sys, time
def send(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
def reply(request, values):
    send(json.dumps({"id": request["id"], "values": values}))
for line in sys.stdin:
    r = json.loads(line)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    """Open targets whose program does so on each request ``r``; end them with the test."""
    opened: list[Target] = []

    def make(
        body: str, *, kind: Kind = Kind.QUANTILE, seconds: float = 5.0, **settings: Any
    ) -> Target:
        path = tmp_path / f"program_{len(opened)}.py"
        text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
        path.write_text(text, encoding="utf-8")
        command = (sys.executable, "-I", "-S", str(path))
        spec = TargetSpec(kind=kind, command=command, call_seconds=seconds, **settings)
        opened.append(spec.open())
        return opened[-1]

    yield make
    for target in opened:
        target.close()


def drawn(target: Target, value=SCORES, size=3, seed=0) -> np.ndarray:
    return target(value, size, rng=np.random.default_rng(seed))


def refusal(target: Target, error: type[TargetError], size: int = 3) -> str:
    with pytest.raises(error) as caught:
        drawn(target, size=size)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(f"asked for {size} draws in request 1") or "request 1" not in message
    assert target.name in message
    return message


def ended(pid: int) -> bool:
    """Wait for a process to be gone; a zombie that nobody has reaped yet is gone too."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text(encoding="utf-8").split()[2] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


# The protocol --------------------------------------------------------------------------------


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
    values = np.arange(1000) % 5
    reports = randomizer.reports(values, rng=np.random.default_rng(0))
    assert reports.tolist() == ((values + 1) % 5).tolist()
    assert drawn(randomizer, 4).tolist() == [0.0] * 3


def test_numbers_arrive_as_they_are(program) -> None:
    scores = np.array([0.1, 1 / 3, 5e-324, 1e308, -2.0])
    target = program("reply(r, r['scores'])", bounds=(-2, 2))
    assert drawn(target, scores, 5).tolist() == scores.tolist()


def test_long_batches_take_several_requests_with_seeds_of_their_own(program) -> None:
    target = program("reply(r, [r['seed'] + r['size'] / 1000] * r['size'])", rng=RandomStyle.SEED)
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


# What goes wrong -----------------------------------------------------------------------------


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
def test_a_program_that_dies_gives_no_answer(program, body, words) -> None:
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


# What hangs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("time.sleep(60)", "gave no reply within 0.4 s and was killed: does it flush"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", "was killed"),
        (
            "sys.stdout.write('{\"id\"'); sys.stdout.flush(); time.sleep(60)",
            "gave only '{\"id\"', without an end of line, within 0.4 s and was killed",
        ),
        (
            "sys.stderr.write('loading\\n'); sys.stderr.flush(); time.sleep(60)",
            "--call-seconds sets the limit; last line of its stderr: 'loading'",
        ),
        ("while True: os.write(2, b'warning\\n' * 2**20)", "gave no reply within 0.4 s"),
        ("os.close(1); time.sleep(60)", "closed its stdout"),
    ],
)
def test_a_program_that_hangs_is_killed(program, body, words) -> None:
    target = program(body, seconds=0.4)
    start = time.monotonic()
    assert words in refusal(target, TargetUnusableError)
    assert time.monotonic() - start < 2.5


def test_a_program_that_does_not_read_is_killed(tmp_path) -> None:
    command = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)")
    target = TargetSpec(kind=Kind.QUANTILE, command=command, call_seconds=0.4).open()
    with pytest.raises(TargetUnusableError, match="was killed: it did not read its request"):
        drawn(target, np.linspace(0, 1, 50_000))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: sys.stdout.write('x' * 65536)", "floods its stdout: more than 4 MiB"),
        ("while True: send('x')", "printed 'x', which is no JSON"),
    ],
)
def test_a_flood_is_stopped(program, body, words) -> None:
    start = time.monotonic()
    assert words in refusal(program(body), TargetUnusableError)
    assert time.monotonic() - start < 4


def test_all_that_a_program_started_is_killed_with_it(program, tmp_path) -> None:
    note = tmp_path / "pid"
    target = program(
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)",
        seconds=0.6,
    )
    refusal(target, TargetUnusableError)
    assert ended(int(note.read_text(encoding="utf-8")))


def test_leaving_the_target_ends_the_program_and_what_it_started(program) -> None:
    body = "child = subprocess.Popen(['sleep', '60'])\nreply(r, [os.getpid(), child.pid, 0])"
    with program(body) as target:
        pids = drawn(target)[:2].astype(int)
    assert all(ended(int(pid)) for pid in pids)
    with program("reply(r, [os.getpid()] * 3)\ntime.sleep(60)") as target:
        pid = int(drawn(target)[0])
        start = time.monotonic()
    assert time.monotonic() - start < 1.5
    assert ended(pid)


def test_a_target_that_is_forgotten_ends_its_program(program, tmp_path) -> None:
    path = tmp_path / "lasting.py"
    path.write_text(HEAD + "    reply(r, [os.getpid()])\n", encoding="utf-8")
    command = (sys.executable, "-I", "-S", str(path))
    target = TargetSpec(kind=Kind.QUANTILE, command=command).open()
    pid = int(drawn(target, size=1)[0])
    del target
    assert ended(pid)


# The page and the example --------------------------------------------------------------------

needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "command_protocol.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


@needs_perl
@pytest.mark.statistical
def test_the_randomizer_of_the_page_keeps_its_value_as_often_as_it_should(tmp_path) -> None:
    """Two-sided binomial test at 1e-9."""
    path = tmp_path / "rr.pl"
    (text,) = blocks("perl")
    path.write_text(text, encoding="utf-8")
    spec = TargetSpec(
        kind=Kind.RANDOMIZER,
        command=("perl", str(path)),
        domain=4,
        rng=RandomStyle.SEED,
        options={"epsilon": 1},
    )
    with spec.open() as target:
        reports = drawn(target, 2, size=4000)
        assert np.array_equal(reports, drawn(target, 2, size=4000))
    assert set(reports) == {0, 1, 2, 3}
    keep = np.e / (np.e + 3)
    assert binomtest(int((reports == 2).sum()), 4000, keep).pvalue > 1e-9


def test_the_page_shows_a_request_as_it_is_sent(program) -> None:
    request, *_ = (json.loads(line) for line in blocks("json"))
    asked = f"assert set(r) == {set(request)!r}, 'other keys'\nreply(r, [1] * r['size'])"
    drawn(program(asked, options={"epsilon": 1}))


@needs_perl
@pytest.mark.statistical
def test_the_quantile_in_perl_has_the_law_of_the_exponential_mechanism() -> None:
    """Kolmogorov–Smirnov test of 5000 draws at 1e-9."""
    spec = TargetSpec(
        kind=Kind.QUANTILE,
        command=("perl", str(ROOT / "examples" / "command_quantile.pl")),
        rng=RandomStyle.SEED,
        options={"epsilon": 1},
    )
    scores = np.array([0.1, 0.1, 0.3, 0.6, 0.65, 0.9])
    with spec.open() as target:
        outputs = drawn(target, scores, size=5000)
    ends = np.array([0.0, *scores, 1.0])
    mass = np.diff(ends) * np.exp(-0.5 * np.abs(np.ceil(0.9 * 7) - np.arange(7)))
    heights = np.concatenate([[0.0], np.cumsum(mass) / mass.sum()])
    keep = np.diff(ends, prepend=-1.0) > 0
    heights_right = np.where(keep, heights, np.nan)
    cdf = lambda x: np.interp(x, ends[keep], heights_right[keep])  # noqa: E731
    assert kstest(outputs, cdf).pvalue > 1e-9
    assert kstest(outputs, lambda x: cdf(np.asarray(x) ** 1.1)).pvalue < 1e-9
    assert target.source is not None
    assert target.source.file.endswith("command_quantile.pl")


@needs_perl
def test_the_quantile_in_perl_reports_what_it_lacks() -> None:
    command = ("perl", str(ROOT / "examples" / "command_quantile.pl"))
    with TargetSpec(kind=Kind.QUANTILE, command=command).open() as target:
        assert "reported an error: option epsilon is missing" in refusal(target, TargetRaisedError)


@needs_perl
def test_the_quantile_in_perl_takes_ties_and_a_large_epsilon() -> None:
    command = ("perl", str(ROOT / "examples" / "command_quantile.pl"))
    spec = TargetSpec(kind=Kind.QUANTILE, command=command, options={"epsilon": 100})
    with spec.open() as target:
        outputs = drawn(target, np.zeros(5000), 9)
    assert (outputs >= 0).all()
    assert (outputs <= 1).all()
