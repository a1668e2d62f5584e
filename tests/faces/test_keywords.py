"""The typed keywords are those of the table of options, and signatures show what holds."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from support.messages import require_line_and_hint

import dpcp_audit as dp
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.faces import keywords
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.target_checks.given_inputs import PairOf, RowsOf
from dpcp_audit.target_checks.loss_rows import ESTIMATE_OPTIONS
from dpcp_audit.theorems.catalogue import CATALOGUE
from dpcp_audit.words import options, values
from dpcp_audit.words.options import RUN_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPES: dict[type, str] = {
    values.Text: "str",
    values.Flag: "bool",
    values.Whole: "int",
    values.Positive: "float",
    values.NonNegative: "float",
    values.Probability: "float",
    values.Duration: "float | str",
    values.Sizes: "int | Collection[int]",
    values.Pair: "tuple[float | None, float | None]",
    values.KeywordTable: "Mapping[str, Any]",
    RowsOf: "str | Path | tuple[ArrayLike, ArrayLike]",
    PairOf: "str | Path | tuple[Any, Any] | Neighbours[Any]",
}
SMALL: dict[str, Any] = {"n": 9, "draws": 600}


def type_of(option: options.Option) -> str:
    """Return how an option is typed; one that may be left open is None, too."""
    if isinstance(option.value, values.Choice):
        written = f"Literal[{', '.join(map(repr, option.value.words.split('|')))}]"
    else:
        written = TYPES[type(option.value)]
    holds = option.default is not None or option.name in keywords.RUN_DEFAULTS
    return written if holds else f"{written} | None"


def written(kind: type) -> dict[str, str]:
    """Return the types of a TypedDict as they are written, in one spelling."""
    own = kind.__annotations__
    return {name: " ".join(hint.__forward_arg__.split()) for name, hint in own.items()}


def tidy(found: dict[str, str]) -> dict[str, str]:
    return {name: hint.replace('"', "'").replace("( ", "").replace(" )", "").replace(
        "[ ", "[").replace(", ]", "]") for name, hint in found.items()}  # fmt: skip


def of_table(rows: Iterable[options.Option]) -> dict[str, str]:
    return {each.name: type_of(each) for each in rows}


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (keywords.CheckKeywords, [each for each in TABLE if each.python]),
        (keywords.AuditKeywords, [each for each in TABLE if each.python] + [*RUN_OPTIONS]),
        (
            keywords.EstimateKeywords,
            [each for each in TABLE if each.python] + [*RUN_OPTIONS, *ESTIMATE_OPTIONS],
        ),
    ],
)
def test_the_types_are_those_of_the_table(kind, rows) -> None:
    assert tidy(written(kind)) == of_table(rows)


def test_every_parameter_of_every_theorem_is_typed() -> None:
    rows = {each.name: each for named in CATALOGUE for each in named.parameters}
    expected = {name: type_of(each).removesuffix(" | None") for name, each in rows.items()}
    expected["bounds"] = "tuple[float, float]"  # a search between finite ends
    assert tidy(written(keywords.TheoremKeywords)) == expected


@pytest.mark.parametrize("function", [dp.audit, dp.covers, dp.estimate, dp.check_calibrator])
def test_help_shows_types_and_what_holds(function) -> None:
    shown = inspect.signature(function).parameters
    assert {each.name for each in keywords.keywords()} <= shown.keys()
    assert all(each.annotation is not inspect.Parameter.empty for each in shown.values())
    assert shown["seed"].default == 0
    assert shown["neighbours"].default == "substitution"
    text = inspect.getdoc(function)
    assert "(default" not in text
    assert "repeatable" not in text
    assert not re.findall(r"--[a-z]", text)


def test_what_holds_of_a_run_is_what_its_settings_say() -> None:
    settings = RunSettings()
    assert {n: getattr(settings, n) for n in keywords.RUN_DEFAULTS} == keywords.RUN_DEFAULTS
    assert {each.name for each in RUN_OPTIONS} == keywords.RUN_DEFAULTS.keys()


def noisy(scores, *, rng) -> float:
    return float(scores.mean() + rng.laplace())


def drawn(**given: Any) -> Any:
    result = dp.audit(noisy, dp.PureDP(5.0), prove=False, trace=False, **SMALL, **given)
    return result.document["findings"][0]["evidence"]


def test_rng_seeds_as_a_number_and_as_a_generator() -> None:
    assert drawn(rng=3) == drawn(seed=3) == drawn(rng=np.int64(3))
    assert drawn(rng=3) != drawn(rng=4)
    assert drawn(rng=None) == drawn(rng=0) == drawn()
    first, again = (drawn(rng=np.random.default_rng(1)) for _ in range(2))
    assert first == again
    generator = np.random.default_rng(1)
    assert keywords.seed_of(None, generator) != keywords.seed_of(None, generator)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rng": 1, "seed": 2}, "seed and rng say the same: give one of them"),
        ({"rng": -1}, "rng must be a whole number >= 0, got -1"),
        ({"rng": True}, "rng must be a numpy Generator, an integer seed or None, got True"),
        ({"rng": "seed"}, "rng must be a numpy Generator, an integer seed or None, got 'seed'"),
        ({"randomness": "some"}, "randomness must be one of generator, seed, global, none"),
    ],
)
def test_what_seeds_nothing_is_refused(given, message) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        drawn(**given)
    require_line_and_hint(str(caught.value))


def test_the_fixture_is_seeded_by_its_session() -> None:
    audit = dp.DPAudit(session=cast("Any", None), nodeid="test", path=Path())
    with pytest.raises(pytest.fail.Exception, match="rng is the session's\nhint: seed it by"):
        audit.private(noisy, dp.PureDP(1.0), rng=3)


def test_a_pair_of_public_names_says_its_relation() -> None:
    pair = dp.Neighbours(
        relation="add-remove", value=np.array([0.0, 1.0]), neighbour=np.array([0.0])
    )
    result = dp.audit(noisy, dp.PureDP(5.0), pair=pair, draws=600, prove=False)
    (target,) = result.document["targets"]
    assert target["neighbours"] == "add-remove"
    assert target["pair"] == {"value": [0.0, 1.0], "neighbour": [0.0]}
    with pytest.raises(ValueError, match="neighbours must be 'add-remove'") as caught:
        dp.audit(noisy, dp.PureDP(5.0), pair=pair, neighbours="substitution")
    require_line_and_hint(str(caught.value))
    with pytest.raises(ValueError, match="relation must be one of substitution") as caught:
        dp.Neighbours(relation="add_remove", value=0, neighbour=1)
    assert "hint: did you mean 'add-remove'?" in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        "audit(f, dp.PureDP(1.0), ",
        "covers(f, at_least=0.9, ",
        "check_calibrator(f, ",
        "estimate(f, ",
        "power(f, dp.PureDP(1.0), ",
        "draws_needed(f, dp.PureDP(1.0), ",
    ],
)
def test_editors_complete_every_keyword(call: str) -> None:
    """Jedi completes in notebooks and in IPython; ``dp.audit(f, al`` is ``alpha=`` there."""
    jedi = pytest.importorskip("jedi")
    names = {"dp": dp, "f": len}
    found = {each.name for each in jedi.Interpreter(f"dp.{call}", [names]).complete()}
    assert {f"{each.name}=" for each in keywords.keywords()} <= found
    (alpha,) = (
        each.name
        for each in jedi.Interpreter(f"dp.{call}al", [names]).complete()
        if each.name.endswith("=")
    )
    assert alpha == "alpha="
