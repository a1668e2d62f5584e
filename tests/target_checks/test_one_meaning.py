"""A paper's claims as a file: the example's verdicts and page, and errors that name the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcp_audit.faces.cli.main import main

CLAIMS = Path(__file__).parents[2] / "examples" / "paper_claims" / "claims.toml"


def test_the_example_gives_a_page_with_theorem_and_hypotheses(tmp_path: Path) -> None:
    page = tmp_path / "ledger.md"
    code = main(
        ["check", "--config", str(CLAIMS), "-q", "--jobs", "1", "--report", f"markdown={page}"]
    )
    text = page.read_text(encoding="utf-8")
    assert code == 1
    assert "Noisy ranks for conformal prediction, Corollary 2" in text
    assert "assuming: a trusted shuffler, and 100 users who report once" in text
    assert "3 claims" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("theorem =", "theorm =", "unknown key 'theorm'\nhint: did you mean 'theorem'"),
        ('"substitution"', '"swap"', "neighbours"),
        ('"Theorem 3"', "3", "theorem must be"),
    ],
)
def test_errors_name_the_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(CLAIMS.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert main(["check", "--config", str(path)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "check " in said
