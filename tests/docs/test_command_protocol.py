"""The programs of the page on the protocol of commands do what it says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binomtest, kstest
from support.programs import drawn, opened_programs, refusal

from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    TargetRaisedError,
    TargetSpec,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.targets import Target


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    yield from opened_programs(tmp_path)


ROOT = Path(__file__).parents[2]
needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "command_protocol.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


@needs_perl
@pytest.mark.statistical(false_alarm=1e-9)
def test_the_randomizer_of_the_page_keeps_its_value_as_often_as_it_should(tmp_path) -> None:
    """Two-sided binomial test at 1e-9."""
    path = tmp_path / "rr.pl"
    (text,) = blocks("perl")
    path.write_text(text, encoding="utf-8")
    spec = TargetSpec(
        kind=Kind.RANDOMIZER,
        command=("perl", str(path)),
        domain=4,
        randomness=RandomStyle.SEED,
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
@pytest.mark.statistical(false_alarm=1e-9)
def test_the_quantile_in_perl_has_the_law_of_the_exponential_mechanism() -> None:
    """Kolmogorov–Smirnov test of 5000 draws at 1e-9."""
    spec = TargetSpec(
        kind=Kind.QUANTILE,
        command=("perl", str(ROOT / "examples" / "command_quantile.pl")),
        randomness=RandomStyle.SEED,
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
