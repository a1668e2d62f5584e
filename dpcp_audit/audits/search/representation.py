"""The second claim of a release of numbers: that the way they are written keeps the promise too."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.event_search import CutFeature, LastBits, TrailingZeros
from dpcp_audit.audits.search.pair_space import input_key
from dpcp_audit.audits.search.pilot_hypotheses import best_of, event_test
from dpcp_audit.words.evidence import REPRESENTATION
from dpcp_audit.words.formatting import number

if TYPE_CHECKING:
    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.audits.search.event_search import Feature, PilotEvent
    from dpcp_audit.audits.search.pair_race import Bank, PairRace
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.audits.search.pilot_hypotheses import EventTest
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome
    from dpcp_audit.words.validate import FloatArray


PAGE = "https://github.com/dpcp-audit/dpcp-audit/blob/main/docs/explanation/floating_point.md"
"""The page that draws the line between the two claims."""
AS_WRITTEN = (
    "the release reveals data through how equal numbers are written: their last bits, or their "
    "type, Python's or NumPy's. Return int(...) or float(...) of each number, rounded to a grid "
    f"that does not depend on the data: {PAGE}"
)
"""The cause and the remedy where the laws of the outputs are known."""
_FEWEST = 100
_STANDARD = 6
"""The number of pairs, the first that a search lists, that are tried beside the worst one."""
_COORDINATES = 8
"""The number of coordinates of a vector that are tried, spread over all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLeak:
    """A test of how outputs are written that refuted a claim, and its judgement.

    Parameters
    ----------
    candidate : Candidate
        The pair.
    size : int
        Outputs of either input that judged it.
    """

    candidate: Candidate
    size: int
    pair_test: EventTest
    judgement: Judgement

    @property
    def sentence(self) -> str:
        """The cause and the remedy."""
        evidence = self.judgement.evidence
        return (
            "the release reveals data through its floating-point representation: the last bits "
            f"alone show {evidence.quantity.unit} ≥ {number(evidence.lower)}. Round it to a grid "
            "that does not depend on the data, or use snapping, a discrete mechanism or OpenDP: "
            f"{PAGE}"
        )


def written_leak(
    race: PairRace, shown: Candidate, *, room: int, significance: float
) -> WrittenLeak | None:
    """Return the leak through the last bits of outputs; None where they refute nothing.

    Half of the significance is for the pair that a search has shown, on its last outputs, half of
    which select an event while the others judge it. The other half is for the most promising of a
    few standard pairs: pilots choose it and its event, and further outputs judge them. Outputs
    that lie on the public grid have no bits below it, and are not looked at.

    Parameters
    ----------
    shown : Candidate
        The pair; its last outputs are independent of everything that chose it.
    room : int
        Outputs that may be drawn of standard pairs.
    significance : float
        The probability with which a promise that these numbers keep is refuted.
    """
    written = _of(race.bank, shown)
    if race.bank.grid is None or all(np.array_equal(race.bank.grid(x), x) for x in written):
        return None
    half = min(map(len, written)) // 2
    first, second = written
    pilot, fresh = (first[:half], second[:half]), (first[half : 2 * half], second[half : 2 * half])
    found = _judged(race.guarantee, shown, pilot, fresh, significance / 2)
    return found or _of_standard_pairs(race, shown, room, significance / 2)


def _of_standard_pairs(
    race: PairRace, shown: Candidate, room: int, significance: float
) -> WrittenLeak | None:
    pairs = [each for each in race.pairs.candidates()[:_STANDARD] if _key(each) != _key(shown)]
    size = room // (4 * max(1, len(pairs)))
    if size < _FEWEST:
        return None
    try:
        pilots = [_drawn(race.bank, pair, size) for pair in pairs]
        promises = [_promise(race.guarantee, pilot) for pilot in pilots]
        best = int(np.argmax(promises))
        if promises[best] <= 0:
            return None
        fresh = _drawn(race.bank, pairs[best], room // 4)
    except Exception:  # noqa: BLE001  (time is over, or a target raises what it likes)
        return None
    return _judged(race.guarantee, pairs[best], pilots[best], fresh, significance)


def _judged(
    guarantee: PrivacyGuarantee,
    candidate: Candidate,
    pilot: tuple[FloatArray, FloatArray],
    fresh: tuple[FloatArray, FloatArray],
    significance: float,
) -> WrittenLeak | None:
    """Return the leak of a pair's most promising event, if fresh outputs refute the claim by it."""
    if min(map(len, (*pilot, *fresh))) < _FEWEST or pilot[0].ndim != pilot[1].ndim:
        return None
    pair_test = event_test(guarantee, _best(guarantee, pilot), pilot)
    judgement = pair_test.judge(guarantee, *fresh, significance=significance)
    if not judgement.refuted:
        return None
    size = len(fresh[0])
    return WrittenLeak(candidate=candidate, size=size, pair_test=pair_test, judgement=judgement)


def _best(guarantee: PrivacyGuarantee, pilot: tuple[FloatArray, FloatArray]) -> PilotEvent:
    return best_of(guarantee, [CutFeature.of(each, pilot) for each in _features(pilot[0])])


def _promise(guarantee: PrivacyGuarantee, pilot: tuple[FloatArray, FloatArray]) -> float:
    alike = pilot[0].shape[1:] == pilot[1].shape[1:]
    return _best(guarantee, pilot).excess if alike else 0.0


def _features(outputs: FloatArray) -> list[Feature]:
    """Return the features of a number's digits, or of some numbers of a vector."""
    if outputs.ndim == 1:
        return [LastBits(3), LastBits(8), TrailingZeros()]
    width = outputs.shape[1]
    looked_at = sorted(
        set(np.linspace(0, width - 1, min(width, _COORDINATES)).astype(int).tolist())
    )
    of_each = [(LastBits(8, coordinate), TrailingZeros(coordinate)) for coordinate in looked_at]
    return [feature for features in of_each for feature in features]


def _drawn(bank: Bank, pair: Candidate, size: int) -> tuple[FloatArray, FloatArray]:
    """Return new outputs of either input, as they are written."""
    for value in pair.inputs:
        bank.fresh(value, size)
    return _of(bank, pair)


def _of(bank: Bank, pair: Candidate) -> tuple[FloatArray, FloatArray]:
    first, second = (bank.written[input_key(value)] for value in pair.inputs)
    return first, second


def _key(pair: Candidate) -> object:
    return frozenset(map(input_key, pair.inputs))


def warned(outcome: Outcome, sentence: str) -> Outcome:
    """Say beside an outcome that the way in which numbers are written reveals data."""
    return replace(
        outcome,
        witness=outcome.witness | {REPRESENTATION: sentence},
        note=f"{outcome.note} Warning: {sentence}.",
    )
