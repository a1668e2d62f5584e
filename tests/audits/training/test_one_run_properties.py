"""One-run p-values: monotone in what was guessed right and in the claim."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dpcp_audit.audits.training.one_run import Guesses, binomial_p_value, p_value
from dpcp_audit.words.guarantees import ApproxDP

COUNTS = st.tuples(st.integers(1, 60), st.integers(0, 40), st.integers(0, 400))
EPSILONS = st.floats(0.01, 6.0)
DELTAS = st.floats(1e-9, 0.2)
TWO_PERCENT = 1.03


@settings(max_examples=40, deadline=None)
@given(COUNTS, EPSILONS, DELTAS)
def test_one_more_right_guess_is_stronger_evidence(
    counts: tuple[int, int, int], epsilon: float, delta: float
) -> None:
    correct, wrong, silent = counts
    made = correct + wrong
    fewer = Guesses(correct=correct - 1, guesses=made, canaries=made + silent)
    more = Guesses(correct=correct, guesses=made, canaries=made + silent)
    claim = ApproxDP(epsilon, delta)
    assert p_value(claim, more) <= p_value(claim, fewer) * TWO_PERCENT
    assert 0 < p_value(claim, more) <= 1
    assert 0 <= binomial_p_value(claim, more) <= 1


@settings(max_examples=40, deadline=None)
@given(COUNTS, EPSILONS, DELTAS, st.floats(0.0, 2.0), st.floats(1.0, 3.0))
def test_a_weaker_claim_has_the_larger_p_value(
    counts: tuple[int, int, int], epsilon: float, delta: float, more: float, times: float
) -> None:
    correct, wrong, silent = counts
    guesses = Guesses(correct=correct, guesses=correct + wrong, canaries=correct + wrong + silent)
    strong, weak = ApproxDP(epsilon, delta), ApproxDP(epsilon + more, delta * times)
    assert p_value(strong, guesses) <= p_value(weak, guesses) * TWO_PERCENT
