"""The fixture ``dp_audit``: audits of functions in the process of their test, and its failure."""

from __future__ import annotations

import inspect
import linecache
import os
import re
import shlex
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack

import pytest

from dpcp_audit.engine.tasks import one_thread, plain_data, plain_record
from dpcp_audit.faces.keywords import coverage_of, label, spec_of, takes_options, telling_calls
from dpcp_audit.faces.pytest_plugin.audit_session import (
    COMPARED,
    Audited,
    InconclusiveAuditWarning,
    RepresentationWarning,
)
from dpcp_audit.faces.pytest_plugin.session import (
    baseline_of,
    measured_again,
    reference,
    worsening,
)
from dpcp_audit.reports.document import outcome_data
from dpcp_audit.reports.sentences import (
    note_of,
    sentence,
    undecided_by_proof,
    unproved_sentence,
)
from dpcp_audit.reports.witness import short, telling
from dpcp_audit.target_checks.target_rows import check_of, row_for, rows_of_targets
from dpcp_audit.targets import Kind
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.formatting import confidence, number, wrapped
from dpcp_audit.words.results import Finding, Outcome, SourceLocation, Verdict
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.faces.keywords import CheckKeywords
    from dpcp_audit.faces.pytest_plugin.audit_session import AuditSession
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Claim, PlainData


_PATHS = 200
"""The number of paths of a traced function, in either direction."""
_EVERY_INPUT = "every input"
"""The scope of an audit that must be a proof."""


@dataclass(slots=True, kw_only=True)
class DPAudit:
    """Audits functions, and fails the test where a claim is refuted.

    Parameters
    ----------
    nodeid : str
        The test's.
    path : Path
        The test's file.
    audits : int
        Number of audits so far.
    """

    session: AuditSession
    nodeid: str
    path: Path
    audits: int = 0

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Fail: a method names the claim."""
        __tracebackhide__ = True
        says = "call a method of dp_audit: private, proved, covers, local or traced"
        _fail(f"{_caller()}: {says}")

    @takes_options()
    def private(
        self,
        function: Callable[..., Any],
        guarantee: PrivacyGuarantee,
        **options: Unpack[CheckKeywords],
    ) -> Outcome:
        """Test a privacy claim on the worst neighbours and events that a search finds.

        Parameters
        ----------
        function : callable
            ``f(scores, *, rng) -> float``, the scores an (n,) array in ``bounds``; or, of kind
            "calibrator", ``f(probabilities, labels, *, rng) -> float``.
        guarantee : PrivacyGuarantee
            The claim, such as ``ZCDP(0.5)``.
        **options
            Options of ``dpcp-audit check``.

        Returns
        -------
        Outcome
            Verdict and evidence, of a claim that is not refuted.
        """
        __tracebackhide__ = True
        return self._audit(function, guarantee, options)

    @takes_options()
    def traced(
        self,
        function: Callable[..., Any],
        guarantee: PrivacyGuarantee,
        *,
        scope: Literal["release", "transcript"] = "transcript",
        **options: Unpack[CheckKeywords],
    ) -> Outcome:
        """Follow the noise of a function and test what it spends; a failure names the line.

        Parameters
        ----------
        function : callable
            A function, as in ``private``; of kind "randomizer", as in ``local``.
        guarantee : PrivacyGuarantee
            The claim, such as ``ZCDP(0.5)``.
        scope : str
            The output that the claim covers: "transcript", all noisy numbers that the code acts
            on, as a proof by composition counts them; or "release", what leaves the function.
        **options
            Options of ``dpcp-audit check``.
        """
        __tracebackhide__ = True
        return self._audit(function, guarantee, options, scope=scope)

    @takes_options()
    def proved(
        self,
        function: Callable[..., Any],
        guarantee: PrivacyGuarantee,
        **options: Unpack[CheckKeywords],
    ) -> Outcome:
        """Prove a privacy claim for every input from the source; a failure shows where it stops.

        Nothing is sampled, but for a few calls that must run.

        Parameters
        ----------
        function : callable
            A function, as in ``private``.
        guarantee : PrivacyGuarantee
            The claim, such as ``ZCDP(0.5)``.
        **options
            Options of ``dpcp-audit check``.
        """
        __tracebackhide__ = True
        return self._audit(function, guarantee, options, scope=_EVERY_INPUT)

    @takes_options()
    def local(
        self,
        function: Callable[..., Any],
        guarantee: PrivacyGuarantee,
        **options: Unpack[CheckKeywords],
    ) -> Outcome:
        """Test a privacy claim of a local randomizer on every pair of values.

        Parameters
        ----------
        function : callable
            ``f(value, *, rng) -> int``, from and to {0, …, K−1}.
        guarantee : PrivacyGuarantee
            The claim, such as ``LocalDP(2.0)``.
        **options
            Options of ``dpcp-audit check``: ``domain``, the number K of values; or ``kind="local"``
            for code that takes or reports other values.
        """
        __tracebackhide__ = True
        return self._audit(function, guarantee, {"kind": Kind.RANDOMIZER, **options})

    @takes_options()
    def covers(
        self,
        function: Callable[..., Any],
        *,
        at_least: float,
        confidence: float | None = None,
        **options: Unpack[CheckKeywords],
    ) -> Outcome:
        """Test a coverage claim on the worst law of scores that a search finds.

        Parameters
        ----------
        function : callable
            A function, as in ``private``; a score is covered if it is at most the threshold.
        at_least : float
            Marginal coverage claimed, in (0, 1): over calibration data, noise and test point.
        confidence : float, optional
            The share of calibrations that the coverage is claimed for, in (0, 1); unless given,
            it is claimed on average.
        **options
            Options of ``dpcp-audit check``.
        """
        __tracebackhide__ = True
        return self._audit(function, (at_least, confidence), options)

    def _audit(
        self,
        function: Callable[..., Any],
        claimed: PrivacyGuarantee | tuple[float, float | None],
        given: Mapping[str, Any],
        scope: str = "",
    ) -> Outcome:
        """Audit one claim: a guarantee, or the coverage that ``covers`` was called with.

        With a scope its noise alone is followed.
        """
        __tracebackhide__ = True
        if not isinstance(given.get("rng", ""), str):
            _fail(f"{_caller()}: rng is the session's\nhint: seed it by --dp-audit-seed")
        self.audits += 1
        where = f"{_caller()}: {label(function)}"
        try:
            guarantee = coverage_of(*claimed) if isinstance(claimed, tuple) else claimed
            spec = spec_of(
                function,
                [guarantee],
                given,
                file=str(self.path),
                draws=self.session.draws,
                detect=self.session.detect,
                forced_draws=self.session.forced_draws,
            )
            row = _row(spec, scope)
        except ValueError as error:
            _fail(f"{where}: {error}")
        row = self._named(row, spec)
        context = Context(
            seed=self.session.seed,
            name=row.claim.id,
            significance=(1 - COMPARED) * self._share,
        )
        audited = self._run(spec, row, context)
        self.session.audited[row.claim.id] = audited
        if scope == _EVERY_INPUT:
            _require_proof(audited.finding, where)
        return self._judge(audited, where)

    def _run(
        self,
        spec: CheckSpec,
        row: Row,
        context: Context,
    ) -> Audited:
        started, error, hint = time.perf_counter(), "", ""
        outcome = kept = again = None
        old = baseline_of(self.session.baseline, context.name)
        try:
            with one_thread(), telling_calls(row, self.session.tell):
                outcome = row.check(context)
                if self.session.compares:
                    kept, again = self._measured(spec, outcome, context, old)
        except ValueError as caught:
            error, _, hint = str(caught).partition(HINT)
        except Exception as caught:  # noqa: BLE001  (a target may raise anything)
            error = f"{type(caught).__name__}: {caught}"
        seconds = time.perf_counter() - started
        finding = Finding(claim=row.claim, outcome=outcome, error=error, hint=hint, seconds=seconds)
        worse = ""
        if old is not None and again is not None:
            worse = worsening(finding, old, again, false_alarm=COMPARED * self._share)
        return Audited(
            nodeid=self.nodeid,
            spec=spec,
            finding=finding,
            replay=self._replay(spec),
            reference=kept,
            compared=again is not None,
            worse=worse,
        )

    def _measured(
        self, spec: CheckSpec, outcome: Outcome, context: Context, old: PlainData | None
    ) -> tuple[PlainData | None, PlainData | None]:
        """Return a case for later sessions, and the baseline's case measured again."""
        kept = again = None
        with spec.target.open() as target:
            if self.session.reports:
                kept = reference(outcome, target, context, draws=_calls(spec))
            if old is not None:
                again = measured_again(old, target, context)
        return kept, again

    def _judge(self, audited: Audited, where: str) -> Outcome:
        __tracebackhide__ = True
        finding = audited.finding
        outcome = finding.outcome
        if outcome is None:
            _fail(f"{where} could not be audited: {finding.failure}")
        if outcome.verdict is Verdict.REFUTED:
            said = failure(where, finding.claim, outcome, self.session.share, audited.replay)
            more = [*_wrapped("note", note_of(_plain(outcome))), *_witness(outcome.witness)]
            more += _source(outcome)
            fold = _wrapped("more", "-v shows how it was found, and the witness")
            _fail("\n".join([said, *(more if self.session.verbose else fold)]))
        if audited.worse:
            baseline = shlex.quote(str(self.session.baseline))
            _fail(
                f"{where} got worse than in {baseline}\n  {audited.worse}\n"
                f"  replay    {audited.replay} --dp-audit-baseline={baseline}"
            )
        if written := outcome.witness.get("representation"):
            warnings.warn(f"{where}: {written}", RepresentationWarning, stacklevel=4)
        if outcome.verdict is Verdict.INCONCLUSIVE:
            found = _plain(outcome)
            stopped = unproved_sentence(found)
            words = (
                f"{where}: inconclusive. {stopped} {_calls(audited.spec)} draws cannot detect "
                f"noise that is too small by a factor of {audited.spec.detect:g}: raise draws"
            ).replace("  ", " ")
            if undecided_by_proof(found):
                words = f"{where}: {sentence(found)}"
            elif "scope" in finding.claim.parameters:
                words = f"{where}: inconclusive, {outcome.note}"
            if self.session.strict:
                _fail(words)
            warnings.warn(words, InconclusiveAuditWarning, stacklevel=4)
        return outcome

    @property
    def _share(self) -> float:
        """The share of the false-alarm probability that the test's latest audit has."""
        return self.session.share / (self.audits * (self.audits + 1))

    def _named(self, row: Row, spec: CheckSpec) -> Row:
        """Return the row with an id that names the test, and which of its audits this is."""
        test = re.sub(r"\s", lambda space: f"%{ord(space[0]):02x}", self.nodeid)
        which = f"#{self.audits}" if self.audits > 1 else ""
        id_ = f"{test}{which}{row.claim.id.removeprefix(spec.name)}"
        source = replace(row.claim.source, section=f"as claimed in {self.nodeid}")
        return replace(row, claim=replace(row.claim, id=id_, source=source))

    def _replay(self, spec: CheckSpec) -> str:
        file, colons, name = self.nodeid.partition("::")
        if colons and self.path.is_absolute():
            file = Path(os.path.relpath(self.path)).as_posix()
        share, draws = self.session.share, ""
        if self.session.forced_draws or spec.budget is not None:
            draws = f" --dp-audit-draws={_calls(spec)}"
        elif self.session.detect is not None:
            draws = f" --dp-audit-detect={self.session.detect!r}"
        return (
            f"pytest {shlex.quote(f'{file}{colons}{name}')} --dp-audit-seed={self.session.seed} "
            f"--dp-audit-false-alarm={share!r}{draws}"
        )


def _require_proof(finding: Finding, where: str) -> None:
    """Fail the test unless its claim is proved for every input."""
    __tracebackhide__ = True
    if finding.outcome is None:
        _fail(f"{where} is not proved for every input: {finding.failure}")
    if finding.outcome.unproved is not None:
        _fail(_not_proved(where, finding.claim, finding.outcome))


def _calls(spec: CheckSpec) -> int:
    (guarantee,) = spec.guarantees
    return check_of(spec, guarantee).planned_calls


def _row(spec: CheckSpec, scope: str) -> Row:
    """Return the one row of a check; with a scope, that of its proof or its trace."""
    if scope == _EVERY_INPUT:
        from dpcp_audit.target_checks.target_claims import ProvedAlone  # noqa: PLC0415  (slow)

        (guarantee,) = spec.privacy
        return row_for(spec, guarantee, ProvedAlone(spec=spec, guarantee=guarantee))
    if scope:
        from dpcp_audit.audits.traced_privacy import Scope  # noqa: PLC0415  (slow to import)
        from dpcp_audit.target_checks.loss_rows import row_of_trace  # noqa: PLC0415

        of = Choice(Scope).read(scope, "scope")
        return row_of_trace(spec, spec.privacy[0], of, _PATHS)
    (row,) = rows_of_targets([spec])
    return row


def _fail(reason: str) -> NoReturn:
    __tracebackhide__ = True
    raise pytest.fail.Exception(reason, pytrace=False) from None


def _caller() -> str:
    """Return the file and line that called this module."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    if frame is None:
        return "?"
    place = SourceLocation.of(frame.f_code.co_filename, frame.f_lineno)
    return f"{place.file}:{place.line}"


_WIDTH = 68


def failure(where: str, claim: Claim, outcome: Outcome, share: float, replay: str) -> str:
    """Return the lines of a failure.

    Parameters
    ----------
    where : str
        The line of the test, a colon, and the function.
    share : float
        The probability with which the test fails a correct mechanism.
    replay : str
        The command that runs the test again.
    """
    found = _plain(outcome)
    evidence = found["evidence"]
    surety = "computed, without samples"
    if evidence["n_samples"] is not None:
        surety = (
            f"{number(evidence['n_samples'])} samples, {evidence['kind']} at confidence "
            f"{confidence(evidence['confidence'])}; this test fails a correct mechanism with "
            f"probability at most {number(share, digits=3)}"
        )
    lines = [
        *_head(where, f" breaks its promise: {sentence(found)}", claim),
        *_wrapped("evidence", surety),
        *_line(outcome),
        f"  replay    {replay}",
    ]
    return "\n".join(lines)


def _plain(outcome: Outcome) -> PlainData:
    """Return an outcome as the sentences of reports read it."""
    return plain_record(outcome_data(outcome))


def _not_proved(where: str, claim: Claim, outcome: Outcome) -> str:
    """Return the lines of the failure of a claim that must be proved and is not."""
    return "\n".join(
        [
            *_head(where, f": {unproved_sentence(_plain(outcome))}", claim),
            *_line(outcome),
            *_source(outcome),
        ]
    )


def _head(where: str, what: str, claim: Claim) -> list[str]:
    """Return the sentence, with which pytest's own summary begins, the place and the claim."""
    place, _, function = where.rpartition(": ")
    said = wrapped(f"{function}{what}", _WIDTH + 12, break_long_words=False)
    return [*said, f"  test      {place}", *_wrapped("claim", claim.statement)]


def _line(outcome: Outcome) -> list[str]:
    """Return the line of the code that spends the loss, as it is written."""
    place = outcome.location
    if place is None:
        return []
    linecache.checkcache(place.file)
    code = linecache.getline(place.file, place.line).strip()
    return [f"  line      {place.file}:{place.line}: {code}".rstrip(": ")]


def _source(outcome: Outcome) -> list[str]:
    """Return the source that a proof has read, each line with its remarks."""
    from dpcp_audit.proving.proof_result import folded_listing  # noqa: PLC0415  (slow to import)

    read = [each.source for each in (outcome.proof, outcome.unproved) if each is not None]
    listing = [line for lines in read for line in folded_listing(lines, _WIDTH)]
    return ["  source, line by line:", *(f"  {line}" for line in listing)] if listing else []


def _wrapped(name: str, text: str) -> list[str]:
    lines = wrapped(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"  {name if i == 0 else '':<10}{line}" for i, line in enumerate(lines)]


def _witness(witness: dict[str, Any]) -> list[str]:
    plain = {key: plain_data(value) for key, value in witness.items()}
    shown = [f"{key}: {short(value)}" for key, value in telling(plain).items()]
    return [f"  {'witness' if i == 0 else '':<10}{line}" for i, line in enumerate(shown)]
