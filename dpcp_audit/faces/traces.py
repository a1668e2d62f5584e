"""``trace`` of the Python interface."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from dpcp_audit.audits.path_evidence import lines_of, trace_tables
from dpcp_audit.audits.traced_privacy import Scope, TracedPrivacy
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.faces.audits import checked_here, keys_of
from dpcp_audit.faces.keywords import label, seed_of
from dpcp_audit.faces.result import (
    aligned,
    columns_of,
    frame_of,
    preformatted,
)
from dpcp_audit.reports.witness import lines_table, traced_tables
from dpcp_audit.target_checks.given_inputs import require_inputs_one_apart
from dpcp_audit.targets.loading import load
from dpcp_audit.tracing.pair_traces import PairTrace, trace_target
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words import options as tables
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Row
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Neighbours, PrivacyGuarantee, Relation
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Estimate, Source, SourceLocation, Verdict
from dpcp_audit.words.values import Choice, KeywordTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from dpcp_audit.faces.result import Result
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.tracing.pair_traces import LossSample
    from dpcp_audit.words.results import LineLoss, Remark


DEFAULT_DRAWS = 1000
_MOST_DRAWS = 10**7
_SUITE = "traces"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Trace:
    """The privacy loss of a function on two inputs, followed draw by draw.

    Parameters
    ----------
    pair : PairTrace
        The traces.
    claims : Result or None
        The guarantees that were tested against them, where any were given.
    """

    pair: PairTrace
    claims: Result | None = None

    @property
    def lines(self) -> tuple[LineLoss, ...]:
        """The lines that draw, with what they spend; the largest first."""
        return self.pair.lines

    @property
    def leaks(self) -> tuple[Remark, ...]:
        """Data that reaches the output or the control flow without noise."""
        return self.pair.leaks

    @property
    def unfollowed(self) -> tuple[Remark, ...]:
        """The places where the noise could not be followed; then there is no verdict."""
        return self.pair.unfollowed

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict on the guarantees; None where none were given."""
        return None if self.claims is None else self.claims.verdict

    def delta(self, epsilon: float, *, significance: float = 0.05) -> Estimate:
        """Return δ(ε) of the noise, the larger of both directions, with limits.

        By post-processing it bounds δ(ε) of the release. If the whole law was enumerated, it is
        the exact δ(ε) of the output.

        Raises
        ------
        ValueError
            If an argument is invalid; the message names it and its value.
        """
        _validate.non_negative(epsilon=epsilon)
        _validate.open_unit(significance=significance)
        if self.pair.exact is not None:
            value = max(each.delta_at(epsilon) for each in self._laws(self.pair.exact))
            return Estimate(
                quantity=Quantity.DELTA,
                at={"epsilon": epsilon},
                value=value,
                lower=value,
                upper=value,
            )
        ways = [each.delta(epsilon, significance=significance / 2) for each in self._samples()]
        return Estimate(
            quantity=Quantity.DELTA,
            at={"epsilon": epsilon},
            value=max(each.value for each in ways),
            lower=max(each.lower for each in ways),
            upper=max(each.upper for each in ways),
            confidence=1 - significance,
        )

    def epsilon(self, delta: float = 0.0) -> float:
        """Return ε at δ, exact for an enumerated law, else estimated; at 0 the largest loss."""
        if self.pair.exact is not None:
            return max(each.epsilon_at(delta) for each in self._laws(self.pair.exact))
        found, far = max(each.epsilon(delta) for each in self._samples()), self.pair.far
        return found if far is None or delta else max(found, far.loss)

    def renyi(self, alpha: float) -> float:
        """Return the Rényi divergence D_α: exact for an enumerated law, else estimated."""
        return max(each.renyi(alpha) for each in self._ways)

    @property
    def rho(self) -> float:
        """The ρ of zCDP: exact for an enumerated law, else estimated over small orders."""
        return max(each.rho() for each in self._ways)

    def report(self, path: str) -> None:
        """Write a report of the guarantees, in the format of the path's suffix."""
        if self.claims is None:
            raise ValueError("claims must be given to trace, to write a report of them")
        self.claims.report(path)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the lines that draw as a data frame of pandas or "polars", a row for each."""
        table = lines_table(self.lines)
        return frame_of(columns_of(table), library)

    @property
    def _ways(self) -> tuple[FinitePair | LossSample, FinitePair | LossSample]:
        """Both directions of the loss: as laws, or as samples of paths."""
        return self._samples() if self.pair.exact is None else self._laws(self.pair.exact)

    @staticmethod
    def _laws(pair: FinitePair) -> tuple[FinitePair, FinitePair]:
        return pair, pair.reversed()

    def _samples(self) -> tuple[LossSample, LossSample]:
        if not self.pair.forward.size:
            raise ValueError(f"the noise cannot be followed: {self.pair.unfollowed[0]}")
        return self.pair.samples

    def __repr__(self) -> str:
        head = [] if self.claims is None else [repr(self.claims), ""]
        shown = (*traced_tables(lines_of(self.pair)), *trace_tables(self.pair))
        return "\n".join([*head, *map(aligned, shown)])

    def _repr_html_(self) -> str:
        return preformatted(repr(self))


_FORM = (
    "trace takes the two inputs, such as dp.trace(f, scores, neighbour, dp.PureDP(1.0)); dp.audit "
    "chooses them itself"
)


@partial(tables.checks_keywords, instead=dict.fromkeys(("n", "alpha", "kind", "pair"), _FORM))
def trace(
    function: Callable[..., Any] | str,
    x: Any = None,
    x_neighbour: Any = None,
    *guarantees: PrivacyGuarantee,
    draws: int = DEFAULT_DRAWS,
    scope: Literal["release", "transcript"] = "release",
    neighbours: Literal["substitution", "add-remove", "zero-out", "one-label"] = "substitution",
    seed: int = 0,
    rng: int | np.random.Generator | None = None,
    false_alarm: float = 1e-3,
    options: Mapping[str, Any] | None = None,
) -> Trace:
    """Follow the noise of a function on two neighbouring inputs: the exact loss, path by path.

    Every draw, every comparison with a noisy number and every noisy value that is read is an
    observation of known probability on ``x``, and, with the same observations, on ``x_neighbour``.

    Parameters
    ----------
    function : callable or str
        ``f(x, *, rng)``, or ``f(x)`` that draws from NumPy's or Python's global generators. Or
        'package.module:function', or 'path/to/file.py:function'.
    x, x_neighbour : object
        The inputs.
    *guarantees
        The promises: ``PureDP``, ``ApproxDP``, ``ZCDP``, ``RenyiDP``, ``LocalDP``,
        ``GaussianDP``.
    draws : int
        Paths in each direction, >= 2.
    scope : str
        The output that the guarantees cover: "release", or "transcript", which is every noisy
        number that the code acts on, as a proof by composition counts them.
    neighbours : str
        The difference between the inputs: "substitution", "add-remove", "zero-out" or "one-label".
    seed : int
        Seed of the paths, >= 0.
    rng : int or Generator, optional
        The seed, as in ``audit``.
    false_alarm : float
        Probability that any true guarantee is refuted, in (0, 1).
    options : mapping, optional
        Further keyword arguments of every call.

    Returns
    -------
    Trace
        The lines that draw, with what they spend in nats; and the verdicts.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> def noisy_sum(x, *, rng):
    ...     return sum(x) + rng.laplace(scale=1)
    >>> found = dp.trace(noisy_sum, [0, 1], [0, 0], dp.PureDP(0.5), draws=100)
    >>> found.verdict, round(found.epsilon(), 6)
    (<Verdict.REFUTED: 'REFUTED'>, 1.0)
    """
    _validate.integer(draws=draws, at_least=2, at_most=_MOST_DRAWS)
    if x_neighbour is None or isinstance(x, PrivacyGuarantee):
        raise UsageError(f"x and x_neighbour must be inputs, got {x} and {x_neighbour}", hint=_FORM)
    if isinstance(function, str):
        function = load(function)
    for each in guarantees:
        if not isinstance(each, PrivacyGuarantee):
            raise UsageError(
                f"guarantee must be a privacy claim, got {each}", hint="such as dp.ZCDP(0.5)"
            )
    relation = Choice(Relation).read(neighbours, "neighbours")
    if not all(each.of_one_report for each in guarantees):
        require_inputs_one_apart(x, x_neighbour, relation)
    of = Choice(Scope).read(scope, "scope")
    given: Mapping[str, Any] = {} if options is None else options
    target = TracedTarget.of(function, KeywordTable().read(given, "options"))
    pair = Neighbours(relation=relation, value=x, neighbour=x_neighbour)
    said = tables.read(RUN_OPTIONS, {"seed": seed_of(seed, rng), "false_alarm": false_alarm})
    settings = RunSettings(suite=_SUITE, **said)
    release = of is Scope.RELEASE
    found = trace_target(target, x, x_neighbour, draws=draws, rng=settings.seed, release=release)
    if not guarantees:
        return Trace(pair=found)
    rows = [
        Row(
            claim=_claim(function, target, each, of),
            check=TracedPrivacy(
                target=target, guarantee=each, neighbours=pair, draws=draws, scope=of
            ),
        )
        for each in guarantees
    ]
    return Trace(pair=found, claims=checked_here(rows, keys_of(guarantees), settings))


def _claim(
    function: Callable[..., Any], target: TracedTarget, guarantee: PrivacyGuarantee, scope: Scope
) -> Claim:
    name = label(function)
    file, line = target.home
    return Claim(
        id=f"{name}[{guarantee}]".replace(" ", ""),
        statement=f"{name} is {guarantee} on two inputs.",
        source=Source(paper=name, section="the claim to be checked"),
        expected=Verdict.CONSISTENT,
        subject=name,
        parameters=dict(guarantee.parameters) | {"scope": str(scope)},
        location=SourceLocation.of(file, line) if file else None,
    )
