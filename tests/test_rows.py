"""Every claim of every suite says what it is about, whose it is, and what its evidence fixes."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from dpcp_audit.engine.suites import suite
from dpcp_audit.words.checks import claims_of
from dpcp_audit.words.results import Claim, Standing, Verdict

SUITES = ("papers", "theorems", "tables", "training", "zoo")
KEYWORDS = {
    "T": "rounds",
    "alpha": ("alpha", "order"),
    "coverage": ("reading", "grid"),
    "failure": ("delta", "beta"),
    "mechanism": ("mechanism", "calibrator"),
    "neighbours": ("neighbours", "relation"),
    "q": "sampling_rate",
    "scores": "population",
    "sides": "two_sided",
    "sigma": "noise_multiplier",
}
"""What the parameters of a claim are called where its id has a shorter or an older word."""
WORDS = frozenset(
    [
        "admissible",
        "after-averaging",
        "anywhere",
        "baseline",
        "best",
        "budget",
        "by",
        "clipping",
        "composition",
        "coverage=targeted",
        "crowd",
        "degradation",
        "derivation",
        "ends",
        "epsilon",
        "formula",
        "from",
        "grim",
        "labels",
        "model=non-private",
        "negligible",
        "outputs",
        "per-layer",
        "reports",
        "resolution=any",
        "sensitivity",
        "sets",
        "small-epsilon",
        "step",
        "table",
        "to",
        "usual",
        "widths",
    ]
)
"""Variants of ids that name no parameter, but which sentence of a section it is."""
CLAIMS = [row.claim for name in SUITES for row in suite(name)]


def ids(claims: list[Claim]) -> list[str]:
    return [claim.id for claim in claims]


def variant(claim: Claim) -> list[tuple[str, str]]:
    """Return the parts of an id's brackets; commas in parentheses part nothing."""
    inside = claim.id.partition("[")[2].removesuffix("]")
    parts = re.findall(r"(?:[^,(]|\([^)]*\))+", inside)
    return [(part.partition("=")[0], part.partition("=")[2]) for part in parts]


def settings(claim: Claim) -> list[str]:
    """Return the names of what an id says of the setting."""
    return [n for n, value in variant(claim) if not WORDS & {n, f"{n}={value}"}]


def keywords(name: str) -> tuple[str, ...]:
    known = KEYWORDS.get(name, name.replace("-", "_"))
    return (known,) if isinstance(known, str) else known


def test_every_claim_has_a_subject_and_a_standing() -> None:
    assert len(CLAIMS) > 600
    assert ids([claim for claim in CLAIMS if not claim.subject]) == []
    stated = [claim for claim in CLAIMS if claim.standing is Standing.STATED]
    assert {claim.id.partition("[")[0].partition(".")[0] for claim in stated} == {"zoo", "exponq"}


def test_subjects_are_few_and_no_ids() -> None:
    subjects = Counter(claim.subject for claim in CLAIMS)
    assert len(subjects) <= 40
    assert not [subject for subject in subjects if subject.startswith(("ldpcp.", "pcoqs."))]


def test_what_an_id_names_is_a_parameter() -> None:
    missing = [
        f"{name} of {claim.id}"
        for claim in CLAIMS
        for name in settings(claim)
        if not set(keywords(name)) & set(claim.parameters)
    ]
    assert missing == []
    assert ids([claim for claim in CLAIMS if settings(claim) and not claim.parameters]) == []


def test_the_numbers_of_an_id_are_those_of_its_parameters() -> None:
    compared = 0
    for claim in CLAIMS:
        for name, text in variant(claim):
            if name not in {"n", "epsilon", "delta", "rho", "beta", "k", "rounds", "T"}:
                continue
            (keyword,) = keywords(name)
            value = claim.parameters.get(keyword)
            if isinstance(value, int | float) and text[:1].isdigit():
                compared += 1
                assert value == pytest.approx(float(text)), claim.id
    assert compared > 450


def test_parameters_are_plain_data() -> None:
    for claim in CLAIMS:
        assert json.loads(json.dumps(claim.parameters)) == claim.parameters, claim.id


def test_what_is_known_to_be_false_is_no_claim_of_a_paper() -> None:
    """Planted bugs and trainings without noise are controls, and expected to be refuted."""
    for claim in CLAIMS:
        said = dict(variant(claim))
        formula = said.get("noise") in {"printed", "corrected"}
        planted = "flaw" in said or ("noise" in said and not formula)
        if planted or claim.parameters.get("model") == "non-private":
            assert claim.standing is Standing.CONTROL, claim.id
            assert claim.expected is Verdict.REFUTED, claim.id


@pytest.mark.parametrize(
    ("id_", "standing"),
    [
        ("ldpcp.theorem-3[scores=digits-gaussian-nb]", Standing.OUTSIDE_HYPOTHESIS),
        ("ldpcp.theorem-4[scores=searched,atoms=none]", Standing.OUTSIDE_HYPOTHESIS),
        ("pcoqs.theorem-1[coverage=conditional]", Standing.READING),
        ("pcoqs.corollary-1[coverage=conditional]", Standing.READING),
        ("pcoqs.epsilon-equivalence", Standing.PAPER),
        ("pcoqs.epsilon-equivalence[rho=epsilon^2/2]", Standing.READING),
        ("histlap.coverage[scores=digits-gaussian-nb]", Standing.CONTROL),
        ("dpskin.gaussian-classic[epsilon=8]", Standing.OUTSIDE_HYPOTHESIS),
        ("dpskin.gaussian-classic[epsilon=1..20]", Standing.OUTSIDE_HYPOTHESIS),
    ],
)
def test_the_standings_that_the_papers_settle(id_: str, standing: Standing) -> None:
    (claim,) = [claim for claim in CLAIMS if claim.id == id_]
    assert claim.standing is standing


def test_a_maker_gives_its_defaults_and_prints_the_parameters() -> None:
    make = claims_of("A paper", subject="Sets", standing=Standing.READING)
    plain = make("a", "Section 1", None, "Sets cover.")
    assert (plain.subject, plain.standing, plain.statement) == (
        "Sets",
        Standing.READING,
        "Sets cover.",
    )
    own = make(
        "b",
        "Section 1",
        None,
        "Sets cover.",
        subject="Other",
        standing=Standing.PAPER,
        parameters={"alpha": 0.1, "n": 50, "form": "printed"},
    )
    assert (own.subject, own.standing) == ("Other", Standing.PAPER)
    assert own.statement == "Sets cover, for n = 50, α = 0.1."
