"""Numbers, intervals and witnesses in the words of a report."""

from __future__ import annotations

import json
import math
import re
import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpcp_audit.words.values import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping


DASH = "–"
_NO_BREAK = "\u00a0"
_TOGETHER = re.compile(r"(?<=[εδρμασ]) (?=[≤≥<>=])|(?<=[≤≥<>=×]) (?=\S)| (?=[%×])")
"""The spaces at which no line ends."""
_MOST_NINES = 10
"""Decimals of a percentage that is not quite 100; more are not read but counted."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SYMBOLS = {
    "n": "n",
    "alpha": "α",
    "epsilon": "ε",
    "rho": "ρ",
    "delta": "δ",
    "beta": "β",
    "gamma": "γ",
    "k": "k",
    "rounds": "T",
    "resolution": "Δ",
    "window_count": "M(Δ)",
    "sampling_rate": "q",
    "noise_multiplier": "σ",
    "order": "Rényi order",
    "n_bins": "bins",
    "n_candidates": "candidates",
}
_IN_WORDS = {"population": "{} scores", "relation": "neighbours by {}", "bounds": "[a, b] = {}"}


def number(value: object, *, digits: int = 4) -> str:
    """Return a number for readers.

    Parameters
    ----------
    value : float, int, str or None
        A JSON number, one of the strings "inf", "-inf" and "nan", or None.
    digits : int
        Significant digits; whole numbers below 10¹⁵ keep all of theirs.

    Examples
    --------
    >>> number(0.0641372), number(1.3e-5), number(11080), number("inf"), number(None)
    ('0.06414', '1.3·10⁻⁵', '11,080', '∞', '–')
    >>> number(112.4, digits=2)
    '110'
    """
    if value is None:
        return DASH
    amount = to_float(value)
    if math.isnan(amount):
        return "not a number"
    if math.isinf(amount):
        return "∞" if amount > 0 else "-∞"
    if amount.is_integer() and abs(amount) < 1e15:
        return f"{amount:,.0f}" if abs(amount) >= 1e4 else f"{amount + 0.0:.0f}"
    if abs(amount) >= 1e4:
        return f"{amount:,.0f}" if abs(amount) < 1e9 else _powers(f"{amount:.{digits}g}")
    shown = f"{amount:.{digits}g}"
    return f"{float(shown):.0f}" if "e+" in shown else _powers(shown)


def _powers(text: str) -> str:
    """Return 1.3e-05 as 1.3·10⁻⁵."""
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    raised = "10" + str(int(exponent)).translate(SUPERSCRIPTS)
    return raised if mantissa == "1" else f"{mantissa}·{raised}"


def power(value: float) -> str:
    """Return a large number as a multiple of a power of ten, where that is shorter.

    Examples
    --------
    >>> power(500), power(10**12), power(11080), power(2 * 10**6), power(3 * 10**400)
    ('500', '10¹²', '11,080', '2·10⁶', '3·10⁴⁰⁰')
    """
    if math.isinf(to_float(value)) and isinstance(value, int):
        return _powers(str(Decimal(value).normalize(Context(prec=4))).lower())
    digits = f"{value:.0f}".rstrip("0")
    short = value >= 1e4 and len(digits) == 1
    return _powers(f"{value:.0e}") if short else number(value)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 draw", "2 draws".

    Examples
    --------
    >>> counted(1, "claim"), counted(0, "claim"), counted(2000, "output")
    ('1 claim', '0 claims', '2,000 outputs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def symbol(name: str) -> str:
    """Return a parameter's name as papers write it.

    Examples
    --------
    >>> symbol("epsilon"), symbol("rounds"), symbol("batch_size")
    ('ε', 'T', 'batch size')
    """
    return _SYMBOLS.get(name, name.replace("_", " "))


def setting(parameters: Mapping[str, Any]) -> str:
    """Return the parameters as a phrase: the scores, then the numbers with all digits.

    What is printed is the very case: no two floats read the same. Choices, which are texts or
    booleans, are left to the statement's own words.

    Examples
    --------
    >>> setting({"n": 10**6, "epsilon": 4.0, "population": "uniform", "on_miss": "upper-end"})
    'uniform scores, n = 10⁶, ε = 4'
    >>> setting({"epsilon": [0.5, 1.0], "bounds": [0, 1], "starred": True})
    '[a, b] = [0, 1], ε = [0.5, 1]'
    """
    told = [form.format(_listed(parameters[k])) for k, form in _IN_WORDS.items() if k in parameters]
    named = [name for name in _SYMBOLS if name in parameters]
    named += [name for name in parameters if name not in _SYMBOLS and name not in _IN_WORDS]
    numbers = [name for name in named if _numeric(parameters[name])]
    return ", ".join([*told, *(f"{symbol(k)} = {_listed(parameters[k])}" for k in numbers)])


def _numeric(value: object) -> bool:
    if is_list(value):
        return all(map(_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(value: object) -> str:
    if is_list(value):
        return f"[{', '.join(map(_listed, value))}]"
    return exact(value) if isinstance(value, int | float) else str(value)


def exact(value: float) -> str:
    """Return a number for readers with as many digits as tell it from all others.

    Examples
    --------
    >>> exact(10**6), exact(11080), exact(0.1), exact(1e-5), exact(2 / 3), exact(12345.5)
    ('10⁶', '11,080', '0.1', '10⁻⁵', '0.6666666666666666', '12,345.5')
    """
    if isinstance(value, int):
        short = abs(value) < 1e15 or len(str(value).rstrip("0")) == 1
        return power(value) if short else f"{value:,}"
    if not math.isfinite(value) or value.is_integer():
        return number(value) if abs(value) < 1e15 else _powers(all_digits(value))
    whole, point, rest = all_digits(value).partition(".")
    return f"{int(whole):,}.{rest}" if point and abs(value) >= 1e4 else _powers(all_digits(value))


def all_digits(value: float) -> str:
    """Return a number's shortest digits that give it back, as ids hold them.

    Examples
    --------
    >>> all_digits(5.0), all_digits(0.2), all_digits(2.0000004), all_digits(1e-05)
    ('5', '0.2', '2.0000004', '1e-05')
    """
    return str(value).removesuffix(".0")


def in_setting(statement: str, parameters: Mapping[str, Any]) -> str:
    """Return a statement with what its parameters fix.

    Examples
    --------
    >>> in_setting("It covers.", {"n": 50, "alpha": 0.1})
    'It covers, for n = 50, α = 0.1.'
    """
    fixed = setting(parameters)
    return f"{statement.rstrip('.')}, for {fixed}." if fixed else statement


def share(value: object, *, digits: int = 3) -> str:
    """Return a probability as a percentage; what is not quite 0 or 100 % does not read so.

    Examples
    --------
    >>> share(1.0), share(0.99986), share(0.0842), share(0.9), share(1e-06), share(0.99999999)
    ('100 %', '99.99 %', '8.42 %', '90 %', '0.0001 %', '99.999999 %')
    >>> share(1 - 1e-15)
    'almost 100 %'
    """
    percent = 100 * to_float(value)
    if 99.995 <= percent < 100:
        places = -math.floor(math.log10(100 - percent))
        return f"{percent:.{places}f} %" if places <= _MOST_NINES else "almost 100 %"
    return f"{number(percent, digits=max(digits, 4 if percent > 99 else 3))} %"


def printable(text: object) -> str:
    """Return a text with what cannot be printed replaced, line breaks and tabs kept.

    Control characters, halves of surrogate pairs and marks that reorder the text around them
    become U+FFFD.
    """
    plain_text = str(text)
    if plain_text.isprintable():
        return plain_text
    return "".join(map(_shown, plain_text))


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return " " if character.isspace() else "\ufffd"


def wrapped(text: str, width: int, **settings: Any) -> list[str]:
    """Return a text in lines; no line ends between a number and its sign or unit.

    Parameters
    ----------
    **settings
        Settings of ``textwrap.wrap``.

    Examples
    --------
    >>> wrapped("found ε ≤ 1 on 3 % of runs", 9)
    ['found', 'ε ≤ 1 on', '3 % of', 'runs']
    """
    lines = textwrap.wrap(_TOGETHER.sub(_NO_BREAK, text), width, **settings)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def clipped(text: str, limit: int) -> str:
    """Return at most ``limit`` characters, the last of them an ellipsis if any are left out.

    It is cut between words, where there are some.

    Examples
    --------
    >>> clipped("covers at least 1−α", 14), clipped("x" * 9, 4)
    ('covers at…', 'xxx…')
    """
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    if not text[limit - 1].isspace() and " " in cut[limit // 2 :]:
        cut = cut.rpartition(" ")[0]
    return f"{cut.rstrip().rstrip(',;:')}…"


def to_float(value: object) -> float:
    """Return a document's number as a float; "inf", "-inf" and "nan" are its JSON strings.

    Beyond a float's range it is infinite, as JSON's 1e400 is.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"value must be a number, got {value!r}")  # noqa: TRY004  (bad input)
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"value must be a number, got {value!r}") from None
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf


def confidence(value: object) -> str:
    """Return a probability near 1 so that its distance from 1 shows.

    Examples
    --------
    >>> confidence(0.95), confidence(0.99995), confidence(1.0)
    ('0.95', '1 − 5·10⁻⁵', '1')
    """
    missing = 1 - to_float(value)
    return f"1 − {number(missing, digits=3)}" if 0 < missing < 1e-3 else number(value)


def telling_digits(evidence: Mapping[str, Any]) -> int:
    """Return the digits (4 to 8) at which measured and claimed numbers that differ look different.

    1.00004 beside a claim of 1 must not be printed as 1.
    """
    claimed = evidence.get("claimed")
    if claimed is None:
        return 4
    measured = [evidence[key] for key in ("value", "lower", "upper")]
    differing = [m for m in measured if _differ(to_float(m), to_float(claimed))]
    for digits in range(4, 9):
        shown = number(claimed, digits=digits)
        if all(number(m, digits=digits) != shown for m in differing):
            return digits
    return 8


def _differ(a: float, b: float) -> bool:
    return not (a == b or math.isclose(a, b, rel_tol=1e-7))


def interval(evidence: Mapping[str, Any]) -> str:
    """Return the interval, rounded outward, or "" where it is a single point.

    An end that is infinite is left out; the upper end of a partition of the outputs stands under
    its own name. Where rounding would move an end onto the claim that it
    excludes, or beyond, the claim stands in its place: what is printed never contradicts the
    verdict.

    Examples
    --------
    >>> interval({"value": 2.5, "lower": 2.18639, "upper": "inf", "claimed": 1.0})
    '(≥ 2.186)'
    >>> interval({"value": 0.1, "lower": 0.0812349, "upper": 0.1234567, "claimed": None})
    '[0.08123, 0.1235]'
    >>> found = {"value": 1.99, "lower": 1.89, "upper": "inf", "claimed": None}
    >>> interval(found | {"partition_upper": 2.18})
    '(≥ 1.89; partition ≤ 2.18)'
    """
    lower, upper = to_float(evidence["lower"]), to_float(evidence["upper"])
    if lower == upper or math.isnan(lower) or math.isnan(upper) or _a_point(evidence, lower, upper):
        return ""
    digits = telling_digits(evidence)
    (low, open_low), (high, open_high) = (end(evidence, upper=side) for side in (False, True))
    first, last = number(low, digits=digits), number(high, digits=digits)
    if math.isinf(upper):
        beside = _of_partition(evidence, digits)
        return f"({'>' if open_low else '≥'} {first}{beside})" if math.isfinite(lower) else ""
    if math.isinf(lower):
        return f"({'<' if open_high else '≤'} {last})"
    if first == last:
        return ""
    return f"{'(' if open_low else '['}{first}, {last}{')' if open_high else ']'}"


def _of_partition(evidence: Mapping[str, Any], digits: int) -> str:
    """Return the upper end over a partition of the outputs, which is none of the release."""
    upper = to_float(evidence.get("partition_upper") or math.inf)
    if math.isinf(upper):
        return ""
    return f"; partition ≤ {number(rounded(upper, digits, up=True), digits=digits)}"


def _a_point(evidence: Mapping[str, Any], lower: float, upper: float) -> bool:
    """Return True if the ends differ by no more than the numerical error of a computed number."""
    nothing = to_float(evidence["value"]) == 0 and upper - lower < 1e-14
    same = math.isclose(lower, upper, rel_tol=1e-8)
    return evidence.get("kind") == "exact" and (nothing or same)


def end(evidence: Mapping[str, Any], *, upper: bool) -> tuple[float, bool]:
    """Return an end of an interval as it is printed, and whether it is left out itself.

    Rounded outward; where that reaches the claim, or an exact number differs from it by rounding
    alone, the claim stands in its place.
    """
    exact = to_float(evidence["upper" if upper else "lower"])
    claimed = evidence.get("claimed")
    limit = math.nan if claimed is None else to_float(claimed)
    if exact == limit or (
        evidence.get("kind") == "exact" and math.isclose(exact, limit, rel_tol=1e-9, abs_tol=1e-15)
    ):
        return limit, False
    shown = rounded(exact, telling_digits(evidence), up=upper)
    reaches = shown >= limit > exact if upper else shown <= limit < exact
    return (limit, True) if reaches else (shown, False)


def rounded_down(value: float, *, digits: int = 4) -> str:
    """Return a lower bound for readers: never above the number.

    Examples
    --------
    >>> rounded_down(0.12349), rounded_up(0.12341), limits(0.12349, 0.45671)
    ('0.1234', '0.1235', '[0.1234, 0.4568]')
    """
    return number(rounded(value, digits, up=False), digits=digits)


def rounded_up(value: float, *, digits: int = 4) -> str:
    """Return an upper bound for readers: never below the number."""
    return number(rounded(value, digits, up=True), digits=digits)


def limits(lower: float, upper: float) -> str:
    """Return an interval, rounded outward."""
    return f"[{rounded_down(lower)}, {rounded_up(upper)}]"


def rounded(value: float, digits: int, *, up: bool) -> float:
    """Return a number rounded up, or down, to so many significant digits.

    Examples
    --------
    >>> rounded(0.0812349, 4, up=False), rounded(0.0812349, 4, up=True)
    (0.08123, 0.08124)
    """
    if value == 0 or not math.isfinite(value):
        return value
    exact = Decimal(repr(value))
    places = exact.adjusted() - digits + 1
    whole = 1e4 <= abs(value) < 1e9  # ``number`` prints all digits before the point, none after
    step = Decimal(1).scaleb(0 if whole else places)
    return float(exact.quantize(step, rounding=ROUND_CEILING if up else ROUND_FLOOR))


_WIDTH = 76
_SHOWN_ITEMS, _SHOWN_NUMBERS = 40, 1_000


def plain(value: object, *, indent: int = 0) -> str:
    """Return JSON-like text: short values on one line, long lists wrapped.

    Of a long list, runs of one number are written as Python repeats them: [0.0] * 45 + [1.0] * 4.
    One of more than 1,000 items, or of 40 that are no numbers, shows its first 20 and says how
    many more there are.
    """
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= _WIDTH - indent:
        return flat
    if is_record(value):
        return _block("{", [f"{_key(k)}: {plain(v, indent=indent + 2)}" for k, v in value.items()])
    if is_list(value):
        return _list(value, indent)
    return flat


def _key(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)


def _list(items: list[Any], indent: int) -> str:
    numbers = all(isinstance(item, int | float) for item in items)
    runs = [(item, len(list(run))) for item, run in groupby(items)] if numbers else []
    if 0 < len(runs) <= len(items) // 4 and len(runs) <= _SHOWN_ITEMS:
        return " + ".join(f"[{item}]{f' * {count}' if count > 1 else ''}" for item, count in runs)
    most = _SHOWN_NUMBERS if numbers else _SHOWN_ITEMS
    shown = items if len(items) <= most else items[: _SHOWN_ITEMS // 2]
    hidden = len(items) - len(shown)
    more = [f"… {hidden:,} more"] if hidden else []
    if any(isinstance(item, dict | list) for item in shown):
        return _block("[", [*(plain(item, indent=indent + 2) for item in shown), *more])
    text = ", ".join(json.dumps(item, ensure_ascii=False) for item in shown)
    width = _WIDTH - indent
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return "[\n" + textwrap.indent("\n".join([*lines, *more]), "  ") + "\n]"


def _block(opening: str, parts: list[str]) -> str:
    inner = textwrap.indent(",\n".join(parts), "  ")
    return f"{opening}\n{inner}\n{'}' if opening == '{' else ']'}"
