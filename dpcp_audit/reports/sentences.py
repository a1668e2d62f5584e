"""One finding in a sentence or two, the same in every report, written from its fields alone.

What was changed, which outputs show it, how likely they are on either input, what was promised
and what is certified; of a claim that withstood, the violation that the test would have caught.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.witness import changed_records, lines_traced, short
from dpcp_audit.words.formatting import (
    counted,
    end,
    interval,
    number,
    rounded,
    rounded_up,
    share,
    telling_digits,
    to_float,
)
from dpcp_audit.words.quantities import Bound, Quantity, Scale
from dpcp_audit.words.results import (
    EvidenceKind,
    SourceLocation,
    Verdict,
    sizes_proved,
)
from dpcp_audit.words.values import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.words.results import LineLoss, PlainData

_LARGEST_EXPONENT = 700.0
_UNDECIDED = (
    "Not decided: a trace bounds the loss of the release from above only. Other noise may give the "
    "same output, so an infinite loss of what the noise reveals refutes nothing."
)
_ALL = 0.995
"""The share of the loss that is told as all of it."""
_LAWS = {
    "laplace": "Laplace",
    "normal": "Gaussian",
    "standard_normal": "Gaussian",
    "standard_cauchy": "Cauchy",
}


def sentence(finding: Mapping[str, Any]) -> str:
    """Return a finding in plain words: what was found, what was promised, what to do next."""
    evidence = finding.get("evidence")
    if not evidence:
        hint = f". Hint: {finding['hint']}." if finding.get("hint") else ""
        return _capital(_line(f"{finding.get('error') or ''}{hint}"))
    if Verdict(finding["verdict"]) is Verdict.REFUTED:
        parts = [_broken(finding), _remedy(finding)]
    elif Verdict(finding["verdict"]) is Verdict.PROVED:
        parts = [_found(finding), _proved(finding)]
    elif finding.get("unproved") and only_above(evidence):
        parts = [unproved_sentence(finding)]
    elif finding["verdict"] == Verdict.INCONCLUSIVE and _of_what_is_revealed(evidence):
        parts = [_UNDECIDED, _next_step(finding)]
    elif undecided_by_proof(finding):
        parts = [_too_dear(finding), _refutes_nothing(finding), power_of(finding)]
    else:
        parts = [_found(finding), power_of(finding)]
    parts.append(_told_apart_by_errors(finding))
    return " ".join(_capital(_line(part)) for part in parts if part)


def _told_apart_by_errors(finding: Mapping[str, Any]) -> str:
    """Return that pairs were left out since the code raised on one input; "" of none.

    Examples
    --------
    >>> _told_apart_by_errors({"extent": {"raised": 1, "error": "f raised KeyError: 3 (line 2)"}})
    'Warning: 1 pair was left out, since the code raises an error on one of its inputs and not on \
the neighbour (f raised KeyError: 3 (line 2)): whoever sees the error can tell them apart, which \
the claim does not cover.'
    """
    extent: PlainData = finding.get("extent") or {}
    raised = extent.get("raised", 0)
    if not raised:
        return ""
    pairs = "1 pair was" if raised == 1 else f"{raised:,} pairs were"
    its = "its" if raised == 1 else "their"
    return (
        f"Warning: {pairs} left out, since the code raises an error on one of {its} inputs and not "
        f"on the neighbour ({extent['error']}): whoever sees the error can tell them apart, which "
        "the claim does not cover."
    )


def unproved_sentence(finding: Mapping[str, Any]) -> str:
    """Return what stopped a proof from the source, and what would help; "" where nothing did.

    Examples
    --------
    >>> stopped = {"reason": "no noise is added", "location": {"file": "a.py", "line": 3}}
    >>> unproved_sentence({"unproved": stopped | {"hint": "add noise"}})
    'Not proved for every input: a.py:3: no noise is added. Hint: add noise.'
    """
    unproved: PlainData | None = finding.get("unproved")
    if not unproved:
        return ""
    location = unproved.get("location")
    place = f"{location['file']}:{location['line']}: " if location else ""
    return f"Not proved for every input: {place}{unproved['reason']}.{_hint(unproved)}"


def _hint(unproved: Mapping[str, Any]) -> str:
    return f" Hint: {unproved['hint']}." if unproved.get("hint") else ""


def undecided_by_proof(finding: Mapping[str, Any]) -> bool:
    """Return True if nothing refutes a claim and its proof ends at a loss above it.

    Examples
    --------
    >>> stopped = {"reason": "the source proves only ε ≤ 2, but ε ≤ 1 is claimed", "bound": 2.0}
    >>> found = {"quantity": "epsilon", "kind": "certified", "lower": 0.4, "value": 0.8,
    ...          "upper": "inf", "claimed": 1.0}
    >>> undecided_by_proof({"verdict": "INCONCLUSIVE", "evidence": found, "unproved": stopped})
    True
    """
    evidence: PlainData | None = finding.get("evidence")
    if not evidence or finding["verdict"] != Verdict.INCONCLUSIVE:
        return False
    unproved: PlainData = finding.get("unproved") or {}
    alone = only_above(evidence) or _of_what_is_revealed(evidence)
    return unproved.get("bound") is not None and not alone


def note_of(finding: Mapping[str, Any]) -> str:
    """Return what a finding's number means, and what stopped its proof from the source."""
    return f"{finding.get('note') or ''} {unsaid_stop(finding)}".strip()


def unsaid_stop(finding: Mapping[str, Any]) -> str:
    """Return what stopped a proof, without what the finding's sentence says of it already."""
    unproved: PlainData | None = finding.get("unproved")
    if not unproved or undecided_by_proof(finding):
        return ""
    if Verdict(finding["verdict"]) is not Verdict.REFUTED:
        return "" if only_above(finding["evidence"]) else unproved_sentence(finding)
    said = _stopped_at_its_line(finding) or (_spending_line(finding) and _stopped_by(finding))
    return "" if said else unproved_sentence(finding)


def _of_what_is_revealed(evidence: Mapping[str, Any]) -> bool:
    """Return True of a loss that a trace bounds from above alone."""
    kind, quantity = EvidenceKind(evidence["kind"]), Quantity(evidence["quantity"])
    bounded = to_float(evidence["lower"]) == 0 < to_float(evidence["value"])
    return kind is EvidenceKind.INDICATIVE and quantity.is_loss and bounded


def shown_estimate(finding: Mapping[str, Any]) -> PlainData:
    """Return the one estimate that a finding shows, in the claim's unit, with two sides.

    The lower end is that of the test, on which the verdict rests; the upper end is that of the
    two-sided estimate of the same loss, where there is one. Where samples give no upper end, the
    lower one is all that is shown: of a claim that is not refuted, the estimate's where that is
    larger, with its confidence and its kind; how many samples it has is not recorded.
    """
    evidence: PlainData = finding["evidence"]
    for other in finding.get("estimates") or ():
        same = all(other.get(key) == evidence.get(key) for key in ("quantity", "at"))
        if not same or math.isfinite(to_float(evidence["upper"])):
            continue
        sure = min(to_float(evidence["confidence"]), to_float(other["confidence"]))
        lower, upper = to_float(evidence["lower"]), to_float(other["upper"])
        if math.isfinite(upper) and lower <= upper:
            value = min(max(to_float(other["value"]), lower), upper)
            ends = {"value": value, "upper": other["upper"], "confidence": sure}
            return evidence | {key: _plain(each) for key, each in ends.items()}
        estimated = to_float(other["lower"])
        within = lower < estimated <= to_float(evidence.get("claimed") or 0.0)
        if only_below(evidence) and within and finding.get("verdict") != Verdict.REFUTED:
            taken = {"detail": other.get("detail", ""), "confidence": other["confidence"]}
            taken |= {"kind": EvidenceKind.CERTIFIED, "n_samples": None, "sample": None}
            return evidence | taken | {"value": estimated, "lower": estimated}
    return evidence | {"value": evidence["lower"]} if only_below(evidence) else evidence


def only_below(evidence: Mapping[str, Any]) -> bool:
    """Return True if samples bound a claimed loss from below alone, so that no value is known.

    Examples
    --------
    >>> found = {"quantity": "rho", "kind": "certified", "lower": 0.6, "upper": "inf"}
    >>> only_below(found | {"claimed": 0.5}), only_below(found | {"upper": 0.9, "claimed": 0.5})
    (True, False)
    """
    return (
        evidence.get("claimed") is not None
        and evidence["kind"] != EvidenceKind.EXACT
        and Quantity(evidence["quantity"]).is_loss
        and math.isinf(to_float(evidence["upper"]))
        and math.isfinite(to_float(evidence["lower"]))
    )


def only_above(evidence: Mapping[str, Any]) -> bool:
    """Return True if a proof bounds a loss from above alone, so that no value is known.

    Examples
    --------
    >>> only_above({"quantity": "rho", "kind": "exact", "lower": 0.0, "value": 0.5, "upper": 0.5})
    True
    """
    lower, value, upper = (to_float(evidence[key]) for key in ("lower", "value", "upper"))
    exact = evidence["kind"] == EvidenceKind.EXACT and Quantity(evidence["quantity"]).is_loss
    return exact and lower == 0 < value == upper


def _compares_nothing(evidence: Mapping[str, Any]) -> bool:
    """Return True of printed numbers of which none was compared."""
    whole = (to_float(evidence["lower"]), to_float(evidence["upper"])) == (0, 1)
    empty = whole and not evidence.get("n_samples")
    return empty and Quantity(evidence["quantity"]) is Quantity.MISPRINTS


def stopped_early(evidence: Mapping[str, Any]) -> bool:
    """Return True if sampling ended when it refuted: the estimate of so few calls leans that way.

    Examples
    --------
    >>> found = {"quantity": "coverage", "bound": "at least", "claimed": 0.9, "lower": 0.0,
    ...          "value": 0.2, "upper": 0.888, "n_samples": 10}
    >>> stopped_early(found | {"sample": {"any_time": True}}), stopped_early(found)
    (True, False)
    """
    sample: PlainData = evidence.get("sample") or {}
    parts = (sample, *(sample.get("counts") or ()))
    claimed = evidence.get("claimed")
    if claimed is None or not any(part.get("any_time") for part in parts):
        return False
    at_most = Bound(evidence["bound"]) is Bound.AT_MOST
    nearest = to_float(evidence["lower" if at_most else "upper"])
    return nearest > to_float(claimed) if at_most else nearest < to_float(claimed)


def certified_end(evidence: Mapping[str, Any]) -> tuple[float, str]:
    """Return the end of the interval that is nearest to the claim, and its sign."""
    bound = Bound(evidence["bound"])
    nearest, beyond = end(evidence, upper=bound is Bound.AT_LEAST)
    sign = bound.opposite.sign
    return nearest, {"≥": ">", "≤": "<"}[sign] if beyond else sign


def shown_numbers(shown: Mapping[str, Any]) -> tuple[str, str]:
    """Return the number that an estimate shows, and its interval: one of them may say it all.

    Examples
    --------
    >>> found = {"quantity": "rho", "kind": "certified", "bound": "at most", "claimed": 0.5}
    >>> shown_numbers(found | {"value": 0.61, "lower": 0.6, "upper": "inf"})
    ('≥ 0.6', '')
    >>> shown_numbers(found | {"value": 0.61, "lower": 0.6, "upper": 0.7})
    ('0.61', '[0.6, 0.7]')
    """
    if only_below(shown):
        return interval({**shown, "partition_upper": None}).strip("()"), ""
    if _compares_nothing(shown):
        return number(None), ""
    digits = telling_digits(shown)
    if only_above(shown):
        return f"≤ {number(shown['value'], digits=digits)}", ""
    if stopped_early(shown):
        nearest, sign = certified_end(shown)
        calls = f"({number(shown['value'], digits=digits)} over {shown['n_samples']:,} calls)"
        return f"{sign} {number(nearest, digits=digits)}", calls
    return number(shown["value"], digits=digits), interval(shown)


def calls_of(finding: Mapping[str, Any]) -> int | None:
    """Return how many calls of the target, or samples, a check has used."""
    witness: PlainData = finding.get("witness") or {}
    calls = witness.get("spent", (finding.get("evidence") or {}).get("n_samples"))
    return calls if isinstance(calls, int) else None


def power_of(finding: Mapping[str, Any]) -> str:
    """Return the violations that a finding's check would have caught, and in how many samples."""
    return power_sentence(finding.get("power"), calls_of(finding), counted_as=_samples_of(finding))


def _samples_of(finding: Mapping[str, Any]) -> str:
    """Return the noun for what a finding's number of calls counts."""
    witness: PlainData = finding.get("witness") or {}
    return "traced path" if "path_seed" in witness and "spent" not in witness else "call"


def power_sentence(
    power: Mapping[str, Any] | None, calls: int | None = None, *, counted_as: str = "call"
) -> str:
    """Return the violations that a check would have caught; "" where that is unknown.

    ``counted_as`` names what ``calls`` counts.

    Examples
    --------
    >>> power = {"quantity": "rho", "bound": "at most", "smallest": 1.08, "claimed": 0.5,
    ...          "detection": 0.95, "factor": 2.16, "at": {}, "detail": "if Gaussian"}
    >>> power_sentence(power, 600)
    'These 600 calls would catch ρ ≥ 1.08 (2.16 × the claim), if Gaussian, with 95 % probability.'
    """
    if not power:
        return ""
    tested = f"These {number(calls)} {counted_as}s" if calls else "This check"
    if math.isinf(to_float(power["smallest"])):
        why = f", because {power['why']}" if power.get("why") else ""
        return f"{tested} would catch no violation{why}."
    of = f", {power['detail']}," if power.get("detail") else ""
    if math.isclose(to_float(power["smallest"]), to_float(power["claimed"]), rel_tol=1e-9):
        return f"{tested} would catch anything beyond the claim{of}".rstrip(",") + "."
    detection = to_float(power["detection"])
    sure = f" with {share(detection)} probability" if detection < 1 else ""
    return f"{tested} would catch {violation(power)}{of}{sure}".rstrip(",") + "."


def violation(power: Mapping[str, Any]) -> str:
    """Return the smallest violation that a check catches, and how many times the claim it is.

    Examples
    --------
    >>> violation({"quantity": "coverage", "bound": "at least", "smallest": 0.8, "claimed": 0.9,
    ...            "factor": 2.0})
    'coverage ≤ 80 % (2 × the miscoverage allowed)'
    """
    quantity, bound = Quantity(power["quantity"]), Bound(power["bound"])
    if math.isinf(to_float(power["smallest"])):
        return "no violation"
    unit = "" if quantity.unit else f"{quantity.label} "
    smallest = rounded(to_float(power["smallest"]), 4, up=bound is Bound.AT_MOST)
    worse = unit + amount(quantity, smallest, bound.opposite.sign)
    miss = quantity is Quantity.COVERAGE and bound is Bound.AT_LEAST
    factor = to_float(power["factor"])
    allowed = "the miscoverage allowed" if miss else "the claim"
    if not math.isfinite(factor):
        return worse
    return f"{worse} ({rounded_up(factor, digits=3)} × {allowed})"


def amount(quantity: Quantity, value: object, sign: str = "", *, digits: int = 4) -> str:
    """Return a value with its unit: "ρ ≤ 0.5", "ρ = 5", "≥ 90 %".

    Examples
    --------
    >>> amount(Quantity.RHO, 0.5, "≤"), amount(Quantity.COVERAGE, 0.9, "≥")
    ('ρ ≤ 0.5', '≥ 90 %')
    """
    words = {
        Scale.NUMBER: lambda: number(value, digits=digits),
        Scale.SHARE: lambda: share(value, digits=digits),
        Scale.RUNS: lambda: f"{share(value, digits=digits)} of runs",
        Scale.TIMES: lambda: f"{number(value, digits=digits)} times",
    }[quantity.scale]()
    sign = sign or ("=" if quantity.unit else "")
    return " ".join(filter(None, [quantity.unit, sign, words]))


def _broken(finding: Mapping[str, Any]) -> str:
    """Return how a claim is broken: by an event where one was counted, else by its number."""
    evidence: PlainData = finding["evidence"]
    witness: PlainData = finding.get("witness") or {}
    counts: list[PlainData] = (evidence.get("sample") or {}).get("counts") or []
    if odds := evidence.get("odds"):
        return _shown_by(odds, finding)
    if counts and counts[0].get("allowed") is not None:
        return _guessed(counts[0], finding)
    if "event" not in witness or len(counts) < 2 or "swapped" not in witness:
        if "neighbour" in witness:
            change = changed_records(witness, to_neighbour=witness.get("path_of") != "value")
            return f"{change}: {_found(finding)}"
        on = f"on {evidence['detail']}: " if "law" in witness and evidence.get("detail") else ""
        return f"{on}{_found(finding)}"
    first, second = [each["hits"] / each["trials"] for each in counts[:2]]
    outside = bool(witness.get("complement"))  # counted in its place, on the inputs in turn
    on_neighbour = bool(witness["swapped"]) != ((first < second) != outside)
    likelier, rarer = max(first, second), min(first, second)
    if _tells_more_outside(witness["event"], likelier, rarer):
        outside, on_neighbour = not outside, not on_neighbour
        likelier, rarer = 1 - rarer, 1 - likelier
    change = changed_records(witness, to_neighbour=on_neighbour)
    shows = _event(witness["event"], outside=outside)
    if named := witness.get("output"):
        shows = f"{'an output other than' if outside else 'the output'} {named}"
    more = _likelier(shows, (likelier, rarer), evidence, trials=counts[0]["trials"])
    return f"{change} {more}; {_allowed(evidence)}. {_certified(evidence)}".rstrip()


def _likelier(
    outputs: str, chances: tuple[float, float], evidence: Mapping[str, Any], *, trials: int
) -> str:
    """Return that one input makes outputs likelier, or possible, and their chances on both.

    ``trials`` are the calls that did not return them; 0 where the chances are computed.
    """
    likelier, rarer = chances
    if rarer:
        return (
            f"makes {outputs} about {_ratio(likelier / rarer, evidence)} times as likely "
            f"({share(likelier)} against {share(rarer)})"
        )
    if trials:
        none = f"{share(likelier)} against none in {number(trials)} calls"
        return f"makes {outputs} possible ({none})"
    return f"makes {outputs} possible ({share(likelier)})"


def _tells_more_outside(event: object, likelier: float, rarer: float) -> bool:
    """Return True if the outputs outside of an event have the larger ratio of probabilities."""
    named = _event(event, outside=True) != _SET
    return named and rarer > 0 and (1 - rarer) * rarer > likelier * (1 - likelier)


def _guessed(guesses: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    """Return how often the input was guessed rightly from the output, and how often may be."""
    evidence: PlainData = finding["evidence"]
    witness: PlainData = finding.get("witness") or {}
    paired = {"neighbour", "neighbour_scores"} & witness.keys()
    change = f"{changed_records(witness, to_neighbour=True)}: " if paired else ""
    claim = amount(Quantity(evidence["quantity"]), evidence["claimed"]) + _at(evidence)
    hits, trials, most = (f"{guesses[name]:,}" for name in ("hits", "trials", "allowed"))
    return (
        f"{change}an observer who sees the output guesses its input rightly {hits} times in "
        f"{trials}; {claim} allows at most {most}. {_certified(evidence)}"
    )


def _shown_by(odds: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    """Return how a computed loss shows: an output or event, and how likely it is on each input."""
    evidence: PlainData = finding["evidence"]
    first, second = (to_float(odds[name]) for name in ("value", "neighbour"))
    change = changed_records(finding["witness"], to_neighbour=second > first)
    likelier, rarer = max(first, second), min(first, second)
    event = odds.get("event")
    output = _event(event, outside=False) if event else f"the output {_output(odds['output'])}"
    trials = odds.get("trials") or 0
    shows = _likelier(output, (likelier, rarer), evidence, trials=trials)
    if not rarer and not trials:
        shows += f", which was {'as good as ' if event else ''}impossible"
    if trials:
        sure = _certified_otherwise(finding) if event else _certified(evidence)
        return f"{change} {shows}; {_allowed(evidence)}. {sure}"
    quantity = Quantity(evidence["quantity"])
    exact = amount(quantity, evidence["value"], digits=telling_digits(evidence))
    found = _certified(evidence) or f"Exact: {exact}."
    return f"{change} {shows}; {_allowed(evidence)}. {found}"


def _output(output: object) -> str:
    """Return an output as Python writes it; a record says which form of a value it is.

    Examples
    --------
    >>> _output(0.25), _output(True), _output("red"), _output({"output": 1, "form": "a text"})
    ('0.25', 'True', '"red"', '1 (a text)')
    """
    if is_record(output) and output.keys() == {"output", "form"}:
        form: PlainData = output
        if form["output"] is None:
            return "None itself, not the text,"
        return f"{_output(form['output'])} ({form['form']})"
    if isinstance(output, bool):
        return str(output)
    return number(output) if isinstance(output, int | float) else short(output)


def _ratio(ratio: float, evidence: Mapping[str, Any]) -> str:
    """Return a ratio of probabilities, in as many digits as tell it from what ε allows."""
    epsilon = to_float(evidence["claimed"])
    digits = 2
    if Quantity(evidence["quantity"]) is Quantity.EPSILON and epsilon < min(
        _LARGEST_EXPONENT, math.log(ratio)
    ):
        allowed = float(f"{math.exp(epsilon):.3g}")
        digits = next((n for n in range(2, 7) if float(f"{ratio:.{n}g}") > allowed), digits)
    return number(ratio, digits=digits)


def _allowed(evidence: Mapping[str, Any]) -> str:
    """Return what the claim allows of an event, in the words of its quantity."""
    quantity, claimed = Quantity(evidence["quantity"]), to_float(evidence["claimed"])
    at: PlainData = evidence.get("at") or {}
    if quantity is Quantity.EPSILON and claimed < _LARGEST_EXPONENT:
        times = number(math.exp(claimed), digits=3)
        beside = f", and δ = {number(at['delta'])} beside" if at.get("delta") else ""
        return f"ε = {number(claimed)} allows {times} times{beside}"
    promised = amount(quantity, claimed, Bound(evidence["bound"]).sign)
    return f"{promised}{_at(evidence)} is promised"


def _at(evidence: Mapping[str, Any]) -> str:
    """Return the parameters of a quantity: " at ε = 1"."""
    at: PlainData = evidence.get("at") or {}
    return "".join(f" at {_symbol(name)} = {number(value)}" for name, value in at.items())


_FEATURES = {
    "coordinate": "an output whose entry {index} is ",
    "last-bits": "an output whose last {bits} bits, read as a number, are ",
}
"""Outputs by a number that tells of them, for the numbers that have a name beyond the search."""
_SET = "one set of outputs, which the witness lists,"
_COUNTS = {
    "ones": "an output that a bisection reaches with {count} of {steps} steps to the upper half",
    "decimals": "an output with {count} decimals",
    "trailing-zeros": "an output with {count} trailing zero bits",
}
"""Outputs by a whole number that is counted in them."""


def _event(event: object, *, outside: bool) -> str:
    """Return the outputs of an event: "an output above 0.5"."""
    feature: PlainData = {}
    if is_record(event):
        feature, event = event.get("feature") or {}, event.get("intervals")
        if inside := _end_of_a_bisection(feature, event):
            feature, event = {}, [inside]
        elif not feature:
            event = []
    parts = event if is_list(event) else []
    kind = str(feature.get("kind"))
    named = kind in _FEATURES or kind in _COUNTS or not feature
    if not named or len(parts) != 1 or not is_list(parts[0]) or len(parts[0]) != 2:
        return _SET
    low, high = map(to_float, parts[0])
    if kind in _COUNTS:
        count = _count([low, high], outside=outside)
        return _COUNTS[kind].format(count=count, steps=feature.get("rounds"))
    outputs = _FEATURES[kind].format(**feature) if feature else ""
    return _interval_of(outputs, low, high, outside=outside)


def _interval_of(outputs: str, low: float, high: float, *, outside: bool) -> str:
    """Return outputs in (low, high], or outside; of the output itself where none are named."""
    one, most = outputs or "the output ", "at most" if outputs else "of at most"
    outputs = outputs or "an output "
    if 0 < high - low < sys.float_info.min:  # the number beside 0
        low = high
    if number(low) == number(high) and not outside:
        exactly = "" if math.nextafter(low, math.inf) >= high else "about "
        return f"{one}{exactly}{number(high)}"
    if outside:
        if math.isinf(high):
            return f"{outputs}{_up_to(low, most)}"
        low, high = (high, math.inf) if math.isinf(low) else (low, high)
    if math.isinf(high):
        least = most.replace("most", "least")
        return f"{outputs}{f'{least} {_limit(low)}' if _is_beside(low) else f'above {_limit(low)}'}"
    if math.isinf(low):
        return f"{outputs}{_up_to(high, most)}"
    return f"{outputs}{'outside' if outside else 'in'} ({_limit(low)}, {_limit(high)}]"


def _count(ends: list[float], *, outside: bool) -> str:
    """Return the whole numbers in (low, high], or outside: "at most 10", "at least 23", "3 to 5".

    Examples
    --------
    >>> _count([8, math.inf], outside=False), _count([8, math.inf], outside=True)
    ('at least 9', 'at most 8')
    >>> _count([2, 5], outside=False), _count([2, 5], outside=True)
    ('3 to 5', 'at most 2 or at least 6')
    """
    low, high = ends
    below = "" if math.isinf(low) else f"at most {math.floor(low)}"
    above = "" if math.isinf(high) else f"at least {math.floor(high) + 1}"
    if outside:
        return " or ".join(filter(None, [below, above]))
    if not above:
        return f"at least {math.floor(low) + 1}"
    least, most = math.floor(max(low, -1)) + 1, math.floor(high)
    if least == most:
        return f"exactly {most}"
    return f"{least} to {most}" if below else f"at most {most}"


def _end_of_a_bisection(feature: PlainData, event: object) -> list[float]:
    """Return the interval of outputs where all of the first bits, or none, are ones; else []."""
    if feature.get("kind") != "ones":
        return []
    parts = event if is_list(event) and len(event) == 1 else [[0, 0]]
    (low, high), (start, end) = map(to_float, parts[0]), map(to_float, feature["bounds"])
    bits = feature["rounds"]
    if math.isinf(low) and 0 <= high < 1:
        return [-math.inf, start + (end - start) / 2**bits]
    if not (math.isinf(high) and bits - 1 <= low < bits):
        return []
    middle = start
    for _ in range(bits):
        middle = (start + end) / 2
        start = middle + to_float(feature["resolution"])
    return [middle, math.inf]


def _up_to(limit: float, most: str) -> str:
    """Return "of at most 0.5"; "below 0.5" of the double beside it, which would be printed so."""
    return f"{'below' if _is_beside(limit) else most} {_limit(limit)}"


def _limit(limit: float) -> str:
    """Return a limit of outputs, with the digits that tell it from a short number beside it.

    Examples
    --------
    >>> _limit(0.96875), _limit(0.999998), _limit(1 - 2**-24), _limit(math.nextafter(1.0, 0.0))
    ('0.9688', '0.999998', '0.9999999', '1')
    """
    if not _is_beside(limit):
        for digits in range(4, 13):
            text = f"{limit:.{digits}g}"
            exact = float(text) == limit
            if exact or len(Decimal(text).normalize().as_tuple().digits) == digits:
                return number(float(text), digits=digits)
    return number(limit)


def _is_beside(limit: float) -> bool:
    """Tell whether a number is the largest double below the one that is printed."""
    return math.nextafter(limit, math.inf) == float(f"{limit:.12g}")


def _found(finding: Mapping[str, Any]) -> str:
    """Return the estimate and the claim, in the claim's unit."""
    shown = shown_estimate(finding)
    if _compares_nothing(shown):
        return "Nothing was compared."
    quantity, claimed = Quantity(shown["quantity"]), shown.get("claimed")
    digits = telling_digits(shown)
    ends = _ends(shown, quantity, digits)
    if shown.get("kind") == EvidenceKind.EXACT and not ends:
        one = "neighbour" in (finding.get("witness") or {})
        undecided = finding.get("verdict") == Verdict.INCONCLUSIVE
        ends = "(exact, on one pair; others may lose more)" if one and undecided else "(exact)"
    one_sided = quantity.is_loss and "≥" in ends and not math.isfinite(to_float(shown["upper"]))
    between = f" {ends}".rstrip()
    of = shown.get("detail") if not quantity.is_guarantee else ""
    detail = f", {of}" if of else ""
    at = _at(shown)
    named = "" if quantity.unit else f"{quantity.label} "
    found = f"found {named}{amount(quantity, shown['value'], digits=digits)}{between}{at}{detail}"
    if only_above(shown):
        found = f"found {named}{amount(quantity, shown['value'], '≤', digits=digits)}{at}"
    if stopped_early(shown):
        nearest, sign = certified_end(shown)
        seen = f"{amount(quantity, shown['value'])} over {counted(shown['n_samples'], 'call')}"
        found = f"found {named}{seen}, certainly {amount(quantity, nearest, sign, digits=digits)}"
    if one_sided:
        least = amount(quantity, end(shown, upper=False)[0], "≥", digits=digits)
        found = f"found {named}{least}{at}{_upper_limit(finding)}"
    if claimed is None:
        return f"{found}; nothing is claimed."
    sign = Bound(shown.get("bound", Bound.AT_MOST)).sign
    return f"{found}; promised {amount(quantity, claimed, sign, digits=digits)}."


def _upper_limit(finding: Mapping[str, Any]) -> str:
    """Return what bounds a sampled loss from above, in brackets: the source, or nothing.

    Examples
    --------
    >>> found = {"verdict": "CONSISTENT", "evidence": {"quantity": "epsilon"}}
    >>> _upper_limit(found), _upper_limit(found | {"unproved": {"bound": 1.25}})
    (' (no upper limit)', ' (the source proves ε ≤ 1.25)')
    """
    if finding.get("verdict") == Verdict.REFUTED:
        return ""
    proved, evidence = (finding.get("unproved") or {}).get("bound"), finding["evidence"]
    if proved is None:
        return " (no upper limit)"
    of_delta = (evidence.get("at") or {}).get("delta")  # a proof bounds δ at the ε of the claim
    unit = "δ" if of_delta else Quantity(evidence["quantity"]).unit
    return f" (the source proves {unit} ≤ {rounded_up(to_float(proved))})"


def _ends(shown: Mapping[str, Any], quantity: Quantity, digits: int) -> str:
    """Return the interval in the unit of its quantity: a probability's in percent."""
    ends = interval(shown)
    if "," not in ends or quantity.scale not in {Scale.SHARE, Scale.RUNS}:
        return ends
    low, high = (share(end(shown, upper=side)[0], digits=digits) for side in (False, True))
    return f"{ends[0]}{low}, {high}{ends[-1]}"


def _symbol(name: str) -> str:
    return {"delta": "δ", "alpha": "α", "epsilon": "ε"}.get(name, name)


def _certified(evidence: Mapping[str, Any]) -> str:
    """Return the end of the interval that excludes the claim; "" where nothing was sampled."""
    if EvidenceKind(evidence["kind"]) is not EvidenceKind.CERTIFIED:
        return ""
    quantity = Quantity(evidence["quantity"])
    nearest, sign = certified_end(evidence)
    return f"Certified: {amount(quantity, nearest, sign, digits=telling_digits(evidence))}."


_COUNTED = {
    "ones": "the steps in which a bisection reaches it",
    "decimals": "the number of its decimals",
    "last-bits": "its last bits",
    "trailing-zeros": "its trailing zero bits",
}
"""The numbers of an output that a test may count, for readers of a finding."""


def _certified_otherwise(finding: Mapping[str, Any]) -> str:
    """Return the certified end, and the test behind it: the event before it is an illustration."""
    event = (finding.get("witness") or {}).get("event")
    kind = str((event.get("feature") or {}).get("kind")) if is_record(event) else ""
    by = _COUNTED.get(kind, "a set of outputs, which the witness lists")
    test = "by a test of all outputs at once" if event is None else f"by {by}"
    return _certified(finding["evidence"]).replace("Certified:", f"Certified {test}:", 1)


def _proved(finding: Mapping[str, Any]) -> str:
    proof: PlainData = finding.get("proof") or {}
    given: PlainData = proof.get("parameters") or {}
    if sizes := sizes_proved(given):
        return f"Proved from the source {sizes}."
    return f"Proved for every case, by {proof['method']}." if proof else "Proved for every case."


def _too_dear(finding: Mapping[str, Any]) -> str:
    """Return the bound at which a proof ends, with the noise of its line, and what would help."""
    unproved: PlainData = finding["unproved"]
    place: PlainData = unproved.get("location") or {}
    where = f"{place['file']}:{place['line']}" if place else ""
    drawn = {
        (each["law"], each["scale"])
        for line in unproved.get("source") or ()
        if (line["file"], line["line"]) == (place.get("file"), place.get("line"))
        for each in line.get("draws") or ()
    }
    start = f"{where}: " if where else ""
    if len(drawn) == 1:
        ((law, scale),) = drawn
        start = f"{where} adds {_LAWS.get(law, law)} noise of scale {scale:.6g}, and "
    return f"Undecided: {start}{unproved['reason']}.{_hint(unproved)}"


def _refutes_nothing(finding: Mapping[str, Any]) -> str:
    """Return that samples do not refute a claim, and what they show."""
    shown, calls = shown_estimate(finding), calls_of(finding)
    if not calls or not only_below(shown):
        return _found(finding)
    refutes = f"The {counted(calls, _samples_of(finding))} refute nothing"
    if to_float(shown["lower"]) <= 0:
        return f"{refutes}."
    least = amount(Quantity(shown["quantity"]), end(shown, upper=False)[0], "≥")
    sure = share(to_float(shown["confidence"]))
    return f"{refutes}; they show {least}{_at(shown)} with {sure} confidence."


def _next_step(finding: Mapping[str, Any]) -> str:
    """Return what decides a claim that a trace leaves open, and where data has no noise."""
    transcript = (finding.get("witness") or {}).get("scope") == "transcript"
    other = "" if transcript else ", or test the claim in scope transcript"
    return f"{_bare(finding)} Sample the outputs (dpcp-audit check, dp.audit){other}."


def _remedy(finding: Mapping[str, Any]) -> str:
    """Return the line that leaks or spends the loss, and what would help, where that is known.

    Where only the last bits of numbers break the promise, that cause and its remedy.
    """
    if written := (finding.get("witness") or {}).get("representation"):
        return str(written)
    if (rank := _rank(finding)) is not None:
        return f"The threshold is score {rank} from below; {_rank_that_would_do(finding)} would do."
    line, stopped = _spending_line(finding), _stopped_by(finding)
    if line is not None:
        noise = _spends(finding["evidence"], line, proved=bool(stopped))
        return f"{noise}; {stopped}" if stopped else f"{noise}."
    if _stopped_at_its_line(finding):
        return f"At {_place(finding)}: {stopped}"
    return _bare(finding) or _unnamed(finding)


def _rank(finding: Mapping[str, Any]) -> int | None:
    return (finding.get("witness") or {}).get("rank")


def _stopped_at_its_line(finding: Mapping[str, Any]) -> bool:
    """Return True if a proof from the source stopped at the line that is named."""
    unproved: PlainData = finding.get("unproved") or {}
    place = finding.get("location")
    return bool(place) and unproved.get("location") == place and _rank(finding) is None


def _stopped_by(finding: Mapping[str, Any]) -> str:
    """Return what stopped a proof at the named line, and the remedy; "" where it is another line.

    Also where the noise that is drawn at the named line is what the proof finds too dear, at the
    line that uses it.
    """
    unproved: PlainData = finding.get("unproved") or {}
    if _stopped_at_its_line(finding):
        return f"{unproved['reason']}.{_hint(unproved)}"
    place, used = finding.get("location") or {}, unproved.get("location") or {}
    draws, costs = (
        any(
            each[what] and (each["file"], each["line"]) == (where.get("file"), where.get("line"))
            for each in unproved.get("source") or ()
        )
        for what, where in (("noise", place), ("cost", used))
    )
    said = f"line {used.get('line')}: {unproved.get('reason')}.{_hint(unproved)}"
    return said if draws and costs else ""


def _spending_line(finding: Mapping[str, Any]) -> LineLoss | None:
    """Return the line that draws all of the noise, if it is the line that is named.

    None where it loses infinitely much: more of that noise would not help.
    """
    traced = lines_traced(finding)
    if traced is None or len(traced.draws) != 1:
        return None
    (line,) = traced.draws
    return line if str(line.location) == _place(finding) and line.mean_loss < math.inf else None


def _spends(evidence: Mapping[str, Any], line: LineLoss, *, proved: bool) -> str:
    """Return the noise of the line that spends, and what would do unless it is proved."""
    noise = f"{_LAWS[line.law]} noise" if line.law in _LAWS else f"noise by {line.law}"
    if not math.isnan(line.scale):
        noise += f" of scale {number(line.scale)}"
    if math.isnan(line.scale) or line.draws != 1:
        about = "" if float(line.draws).is_integer() else "about "
        times = "once" if line.draws == 1 else f"{about}{number(line.draws, digits=2)} times"
        part = "all" if line.share > _ALL else share(line.share, digits=2)
        return f"At {line.location}, {noise} is drawn {times}, which causes {part} of the loss"
    wanted = _enough(evidence, line)
    more = wanted > line.scale and not proved
    would_do = f"; a scale of {number(wanted, digits=3)} would do" if more else ""
    return f"At {line.location}, {noise} is added on this pair{would_do}"


def _enough(evidence: Mapping[str, Any], line: LineLoss) -> float:
    """Return the scale of one draw at which the claim would hold on the pair; NaN if unknown."""
    claimed = to_float(evidence["claimed"])
    if claimed <= 0 or (evidence.get("at") or {}).get("delta"):
        return math.nan
    known = {
        ("laplace", Quantity.EPSILON): line.sensitivity / claimed,
        ("normal", Quantity.RHO): line.sensitivity / math.sqrt(2 * claimed),
        ("normal", Quantity.MU): line.sensitivity / claimed,
    }
    return known.get((line.law, Quantity(evidence["quantity"])), math.nan)


def _rank_that_would_do(finding: Mapping[str, Any]) -> str:
    """Return the smallest rank that covers as much as is claimed, on average and for any law."""
    n, claimed = finding["witness"]["n"], to_float(finding["evidence"]["claimed"])
    rank = math.ceil((n + 1) * Fraction(repr(claimed)))
    return f"score {rank}" if rank <= n else "infinity"


def _bare(finding: Mapping[str, Any]) -> str:
    """Return that a trace has seen data without noise, with the line where that is the place."""
    traced = lines_traced(finding)
    if traced is None or not traced.leaks:
        return ""
    place = _place(finding)
    named = any(leak.blames and str(leak.location) == place for leak in traced.leaks)
    if named:
        return f"At {place}, data is used without noise."
    return "On this pair, data reaches the output without noise; by which line is not known."


def _unnamed(finding: Mapping[str, Any]) -> str:
    """Return that no line is blamed, where the source was read."""
    if not finding.get("unproved"):
        return ""
    traced = lines_traced(finding)
    seen = [] if traced is None else [each.location for each in traced.draws]
    if any(str(each) == _place(finding) for each in seen):
        return ""
    return "Only the outputs show the loss; which line causes it is not known."


def _place(finding: Mapping[str, Any]) -> str:
    """Return "file:line" of a finding; "" where it has none."""
    location = finding.get("location")
    return str(SourceLocation(**location)) if is_record(location) else ""


def _plain(value: object) -> object:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _capital(text: str) -> str:
    """Return a sentence with a capital; the name of a file keeps its own letter."""
    named = any(sign in text.partition(" ")[0].rstrip(".:,") for sign in ".:/_")
    return text if named else f"{text[:1].upper()}{text[1:]}"


def _line(text: str) -> str:
    return " ".join(text.split())
