"""The catalogue: every theorem that can be tested by name, and what it takes."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcp_audit.mechanisms.exponq.exponential_quantile import ExponQ
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem
from dpcp_audit.theorems.ldpcp_labels import UniformEvent
from dpcp_audit.theorems.ldpcp_scores import ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import CoverageTheorem, NoiseBound, RankError
from dpcp_audit.theorems.score_laws import law_of_probabilities
from dpcp_audit.theorems.split import MarginalCoverage, SplitCoverage
from dpcp_audit.words.options import Option, options_of
from dpcp_audit.words.plain import shown
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.theorems.score_laws import ScoreLaw
    from dpcp_audit.theorems.statement import Statement

_TYPICAL: Mapping[str, Any] = {
    "n": 10_000,
    "alpha": 0.1,
    "epsilon": 2.0,
    "delta": 0.05,
    "rho": 0.5,
    "beta": 0.05,
    "n_candidates": 100,
    "gamma": 0.5,
}
"""Values of the parameters that have no default, for examples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTheorem:
    """A theorem by name.

    Parameters
    ----------
    name : str
        As it is asked for.
    kind : type
        The theorem's dataclass, whose fields are its parameters.
    part : tuple of (str, type)
        A field that holds a mechanism, and the mechanism's dataclass, whose fields are parameters
        too; empty where there is none.
    fixed : dict
        Fields that the name settles.
    """

    name: str
    kind: type
    part: tuple[str, type] | tuple[()] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def parameters(self) -> tuple[Option, ...]:
        """What can be said of it: the options of its dataclass, and of its mechanism's."""
        of_part = options_of(self.part[1]) if self.part else ()
        own = (each for each in options_of(self.kind) if each.name not in self.fixed)
        return tuple(sorted((*own, *of_part), key=lambda each: not each.required))

    def parameter(self, name: str) -> Option:
        """Return one of ``parameters``."""
        return next(each for each in self.parameters if each.name == name)

    @property
    def example(self) -> dict[str, Any]:
        """Typical values of the parameters that have to be given."""
        return {each.name: _TYPICAL[each.name] for each in self.parameters if each.required}

    @property
    def statement(self) -> Statement:
        """What it says."""
        law = law_of_probabilities([[0.75, 0.25], [0.5, 0.5]], [0, 1])
        statement: Statement = self.on(law, self.example).says
        return statement

    @property
    def needs_probabilities(self) -> bool:
        """True if it is about a classifier's probabilities and labels, and not scores alone."""
        return "pool" in self._fields

    @property
    def needs_law(self) -> bool:
        """True if the law of the scores has no default."""
        law = self._fields.get("population")
        return law is None or law.default_factory is dataclasses.MISSING

    def on(self, law: ScoreLaw | None, given: Mapping[str, Any]) -> Any:
        """Return the theorem object of a case.

        Parameters
        ----------
        law : ScoreLaw or None
            Of the scores; None where it is left to the default.
        given : mapping
            Values of ``parameters`` by name.

        Raises
        ------
        ValueError
            Naming the parameter that the theorem does not take.
        """
        values = dict(given) | dict(self.fixed) | self._law(law)
        if self.part:
            name, kind = self.part
            held = {each.name for each in options_of(kind)}
            values[name] = kind(**{key: values.pop(key) for key in held & values.keys()})
        return self.kind(**values)

    @property
    def _fields(self) -> dict[str, dataclasses.Field[Any]]:
        return {each.name: each for each in dataclasses.fields(self.kind)}

    def _law(self, law: ScoreLaw | None) -> dict[str, Any]:
        if law is None:
            return {}
        if not self.needs_probabilities:
            return {"population": law.population}
        if law.pool is None:
            raise UsageError(
                f"scores must come from a pool of probabilities and labels for {self.name}, "
                f"got {law.name}"
            )
        k = int(law.pool().probabilities.shape[1])
        return {"pool_name": law.name, "pool": law.pool, "k": k}


_SEARCH = ("mechanism", PCOQS)
CATALOGUE = (
    NamedTheorem(name="ldpcp-1", kind=UniformEvent, fixed={"two_sided": False}),
    NamedTheorem(name="ldpcp-1-two-sided", kind=UniformEvent, fixed={"two_sided": True}),
    NamedTheorem(name="ldpcp-3", kind=LabelTheorem, fixed={"starred": False}),
    NamedTheorem(name="ldpcp-3-starred", kind=LabelTheorem, fixed={"starred": True}),
    NamedTheorem(name="ldpcp-4", kind=ScoreTheorem, fixed={"starred": False}),
    NamedTheorem(name="ldpcp-4-starred", kind=ScoreTheorem, fixed={"starred": True}),
    NamedTheorem(name="ldpcp-algorithm-3", kind=ScoreTheorem, fixed={"two_sided": True}),
    NamedTheorem(name="pcoqs-proposition-1", kind=RankError, part=_SEARCH),
    NamedTheorem(
        name="pcoqs-remark-3",
        kind=RankError,
        part=_SEARCH,
        fixed={"noise_bound": NoiseBound.GAUSSIAN},
    ),
    NamedTheorem(
        name="pcoqs-theorem-1", kind=CoverageTheorem, part=_SEARCH, fixed={"corrected": False}
    ),
    NamedTheorem(
        name="pcoqs-corollary-1", kind=CoverageTheorem, part=_SEARCH, fixed={"corrected": True}
    ),
    NamedTheorem(name="split-conformal", kind=SplitCoverage),
    NamedTheorem(name="exponq-coverage", kind=MarginalCoverage, part=("calibrator", ExponQ)),
)
"""Every theorem that can be asked for, in the order of the papers."""


def theorem_names() -> tuple[str, ...]:
    """Return the names of all theorems."""
    return tuple(each.name for each in CATALOGUE)


def named_theorem(name: object) -> NamedTheorem:
    """Return a theorem by its name.

    Raises
    ------
    UsageError
        If there is none, with the nearest name that there is.

    Examples
    --------
    >>> [each.name for each in named_theorem("ldpcp-4").parameters if each.required]
    ['n', 'epsilon', 'delta']
    """
    for each in CATALOGUE:
        if isinstance(name, str) and each.name == name:
            return each
    near = difflib.get_close_matches(str(name), theorem_names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else ""
    menu = ", ".join(theorem_names())
    raise UsageError(f"a theorem's name must be one of {menu}, got {shown(name, 60)}", hint=hint)
