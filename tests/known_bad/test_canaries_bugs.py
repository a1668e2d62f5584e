"""Every planted bug of DP-SGD and DP-Adam is refuted by canaries; the correct twins are not."""

import pytest

from dpcp_audit.audits.check import Context
from dpcp_audit.audits.evidence import Verdict
from dpcp_audit.mechanisms.dpsgd.settings import SGD, Adam, Flaw
from dpcp_audit.reports.suite.training_canaries import flawed

pytestmark = pytest.mark.known_bad
FLAWS = [flaw for flaw in Flaw if flaw is not Flaw.NONE]


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_planted_bug_is_refuted(flaw) -> None:
    """At the significance of a row of the suite, and half of the smoke profile's runs."""
    context = Context(seed=0, name=flaw.name, significance=5e-5, effort=0.5)
    outcome = flawed(flaw)(context)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.lower > outcome.evidence.claimed


@pytest.mark.statistical
@pytest.mark.parametrize("optimiser", [SGD(), Adam()])
def test_the_correct_twin_is_not_refuted(optimiser) -> None:
    """A true claim is refuted with probability at most 1e-7, the check's significance."""
    context = Context(seed=0, name="twin", significance=1e-7, effort=0.25)
    outcome = flawed(Flaw.NONE, optimiser)(context)
    assert outcome.verdict is not Verdict.REFUTED
    assert outcome.evidence.lower <= outcome.evidence.claimed
