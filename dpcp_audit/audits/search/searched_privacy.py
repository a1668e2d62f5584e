"""What the audits that search for the worst pair of unknown code share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcp_audit import _validate
from dpcp_audit.audits.search.pair_race import Bank, PairRace
from dpcp_audit.audits.search.pair_space import PairSpace, input_as_data
from dpcp_audit.decisions import DETECT
from dpcp_audit.targets.degenerate import Randomness

if TYPE_CHECKING:
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import PlainData


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedPrivacy:
    """A guarantee, the code that claims it, and the neighbours on which it is to be broken.

    Parameters
    ----------
    sample : Sampler
        The target.
    guarantee : PrivacyGuarantee
        The claim.
    pairs : PairSpace
        The neighbours to search.
    draws : int
        Outputs to draw at most, at effort 1, on all inputs, pilots and probes included; at
        least 600. Blatant violations are refuted after about a thousand.
    randomness : Randomness
        Where the target draws its random numbers, see ``SampledPrivacy``.
    detect : float
        The factor of the noise that is to be refuted, > 1; it decides what is CONSISTENT.
    witness : dict
        Parameters of the target, as plain data.
    """

    sample: Sampler
    guarantee: PrivacyGuarantee
    pairs: PairSpace
    draws: int = 200_000
    randomness: Randomness = Randomness.GENERATOR
    detect: float = DETECT
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.integer(draws=self.draws, at_least=600)
        _validate.choice(Randomness, randomness=self.randomness)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def _race(self, context: Context) -> PairRace:
        """Return a race that has drawn nothing yet."""
        bank = Bank(sample=self.sample, context=context)
        return PairRace(
            bank=bank, guarantee=self.guarantee, pairs=self.pairs, randomness=self.randomness
        )

    def _draws(self, context: Context) -> int:
        """Return the outputs to draw at most, at the context's effort."""
        return max(600, context.samples(self.draws))

    def _found(self, candidate: Candidate, race: PairRace, *, size: int) -> PlainData:
        """Return a pair, the claim and what it took to find as plain data."""
        value, neighbour = candidate.inputs
        return self.witness | {
            "guarantee": str(self.guarantee),
            "relation": str(candidate.neighbours.relation),
            "value": input_as_data(value),
            "neighbour": input_as_data(neighbour),
            "family": candidate.family,
            "n_samples": size,
            "draws": self.draws,
            "spent": race.bank.spent,
            "seed": race.bank.context.seed,
        }
