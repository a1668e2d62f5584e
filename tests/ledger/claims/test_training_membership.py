"""Membership audits as a user meets them: the suite's rows, and the page on one's own models."""

from __future__ import annotations

import re
from pathlib import Path

from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.training_suite import membership_rows as rows

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "attack_a_trained_model.md"


def test_every_attack_meets_every_model_and_every_view_is_seen() -> None:
    ids = [row.claim.id for row in rows()]
    assert len(set(ids)) == len(ids)
    for model in ("non-private", "dp-sgd", "dp-adam"):
        for attack in ("loss", "lira-online", "lira-offline"):
            assert f"dpskin.attacks[attack={attack},model={model},sees=probabilities]" in ids
        assert f"dpskin.attacks[attack=lira-online,model={model},sees=sets]" in ids


def test_what_has_no_noise_or_half_of_it_is_expected_to_be_refuted_and_nothing_else() -> None:
    for row in rows():
        broken = "non-private" in row.claim.id or "noise=half" in row.claim.id
        assert (row.claim.expected is Verdict.REFUTED) == broken, row.claim.id


def test_nothing_is_expected_of_attacks_too_weak_for_a_training_without_noise() -> None:
    weak = {row.claim.id for row in rows() if row.claim.expected is None}
    assert weak == {row.claim.id for row in rows() if "a weak attack" in row.claim.statement}
    assert weak == {
        "dpskin.attacks[attack=loss,model=dp-sgd,sees=probabilities]",
        "dpskin.attacks[attack=lira-online,model=dp-sgd,sees=sets]",
        "dpskin.pipeline[model=dp-sgd,attack=lira-online,sees=sets]",
    }


def test_the_page_says_what_its_code_prints(capsys) -> None:
    page = PAGE.read_text(encoding="utf-8")
    code, shown = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "text")
    )
    exec(compile(code[0], str(PAGE), "exec"), {})  # noqa: S102  (the page's own words)
    assert capsys.readouterr().out == shown[0]
