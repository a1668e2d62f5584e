"""Options of a check that contradict each other, or what is claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpcp_audit._values import wrong
from dpcp_audit.errors import UsageError
from dpcp_audit.guarantees import Coverage, LocalDP, SetSize
from dpcp_audit.neighbours import Relation
from dpcp_audit.target_checks.pair_distance import require_neighbours
from dpcp_audit.target_checks.pair_domain import require_domain, require_parts
from dpcp_audit.target_checks.units import COVERAGE_SIZE
from dpcp_audit.targets import Takes

if TYPE_CHECKING:
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.options import Spelling
    from dpcp_audit.target_checks.claim_options import Guarantee
    from dpcp_audit.target_checks.pair_data import InputPair
    from dpcp_audit.target_checks.units import Unit
    from dpcp_audit.targets import TargetSpec

_FEWEST_DRAWS, _FEWEST_CALIBRATIONS = 600, 100
"""Of calls for a privacy claim, and for a claim of coverage."""


class Described(Protocol):
    """A check as its options describe it."""

    @property
    def target(self) -> TargetSpec:
        """The code."""
        ...

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What it claims."""
        ...

    @property
    def privacy(self) -> tuple[PrivacyGuarantee, ...]:
        """The claims of privacy."""
        ...

    @property
    def neighbours(self) -> Relation:
        """The neighbour relation."""
        ...

    @property
    def public_n(self) -> bool:
        """Whether n is said to be public."""
        ...

    @property
    def shuffle_n(self) -> int | None:
        """The number of users whose reports are shuffled."""
        ...

    @property
    def clients(self) -> int:
        """The number of clients of a federated target."""
        ...

    @property
    def n(self) -> tuple[int, ...]:
        """The numbers of scores; empty for the default ones."""
        ...

    @property
    def pair(self) -> InputPair | None:
        """The one pair to test."""
        ...

    @property
    def unit(self) -> Unit:
        """Whose data differ between its neighbours."""
        ...

    @property
    def draws(self) -> int | None:
        """Calls for each claim."""
        ...


def require_one_meaning(spec: Described, spell: Spelling) -> None:
    """Refuse options that contradict each other."""
    if spec.public_n and spec.neighbours is Relation.ADD_REMOVE:
        raise UsageError(
            f"{spell('public_n')} contradicts neighbours = 'add-remove', where n differs: "
            "use 'substitution'"
        )
    _require_shuffling(spec, spell)
    _require_records(spec, spell)
    if spec.pair is not None:
        _require_pair(spec.pair, spec, spell)
    labels = spec.target.domain
    for each in spec.guarantees:
        if isinstance(each, SetSize) and labels is not None and each.at_most >= labels:
            raise wrong("set_size_at_most", f"below the number of classes, {labels}", each.at_most)
    fewest = _FEWEST_DRAWS if spec.privacy else _FEWEST_CALIBRATIONS
    if spec.draws is not None and spec.draws < fewest:
        raise wrong("draws", f"a whole number >= {fewest}", spec.draws)


def _require_pair(pair: InputPair, spec: Described, spell: Spelling) -> None:
    """Refuse a pair that the target cannot be called with, or of which no claim speaks."""
    require_parts(pair, spec.target.kind, spell("pair"))
    if spec.privacy:
        require_domain(pair, spec.target, spell)
        takes = spec.target.kind.takes
        require_neighbours(pair, spec.neighbours, takes, spec.unit, spell("pair"))


def _require_records(spec: Described, spell: Spelling) -> None:
    """Refuse fewer scores than clients, where they cover: each client is given a part."""
    federated = spec.target.kind.takes is Takes.CLIENTS
    covers = any(isinstance(each, Coverage) for each in spec.guarantees)
    fewest = min(spec.n, default=COVERAGE_SIZE)
    if federated and covers and fewest < spec.clients:
        raise wrong(spell("n"), f"at least the number of clients, {spec.clients}", fewest)


def _require_shuffling(spec: Described, spell: Spelling) -> None:
    """Refuse claims of shuffled reports that cannot be tested, or are of one report."""
    if spec.shuffle_n is None:
        return
    said = spell("shuffle_n")
    if any(isinstance(each, LocalDP) for each in spec.guarantees):
        raise UsageError(
            f"{said} is of all users' reports, and LocalDP of one: claim what holds centrally, "
            f"such as {spell('approx_dp')}"
        )
    if spec.pair is not None:
        raise UsageError(f"{said} tries values of its own: give it without {spell('pair')}")
