"""``new-claim``: the file that it writes has a verdict at once, and half of its noise another."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def written(
    tmp_path: Path, *names: str, noise: str = "2 / EPSILON", settings: str = ""
) -> list[dp.Result]:
    """Return what claims of a written file come to, each with a false alarm of 5e-10."""
    path = tmp_path / "test_my_paper.py"
    assert main(["new-claim", str(path), "--paper", "Noisy sets"]) == 0
    text = path.read_text(encoding="utf-8")
    assert (text.count("2 / EPSILON,"), text.count("n=200,")) == (1, 2)
    text = text.replace("2 / EPSILON,", f"{noise},")
    text = text.replace("n=200,", f"n=200, false_alarm=5e-10, {settings}")
    path.write_text(text, encoding="utf-8")
    claims = runpy.run_path(str(path))["CLAIMS"]
    assert set(claims) == {"privacy", "coverage"}
    return [claims[name]() for name in names]


@pytest.mark.statistical(false_alarm=1e-9)
def test_the_file_is_green_as_it_is_written(tmp_path: Path) -> None:
    """Privacy is proved; coverage is refuted with probability at most 1e-9."""
    (privacy,), (coverage,) = written(tmp_path, "privacy", "coverage")
    assert privacy.verdict is dp.Verdict.PROVED
    assert coverage.verdict is dp.Verdict.CONSISTENT
    assert privacy.finding.claim.source.paper == "Noisy sets"
    assert "exchangeable scores" in coverage.claim
    assert "assuming" not in privacy.claim


@pytest.mark.known_bad
def test_half_of_the_noise_is_refuted(tmp_path: Path) -> None:
    """By its outputs; a trace of them would take ten seconds more."""
    few = "trace=False, draws=60_000,"
    ((privacy,),) = written(tmp_path, "privacy", noise="1 / EPSILON", settings=few)
    assert privacy.verdict is dp.Verdict.REFUTED


@pytest.mark.parametrize("name", ["there.py", "no/such/folder.py", "claims.toml"])
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, capsys) -> None:
    (tmp_path / "there.py").touch()
    assert main(["new-claim", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert "FILE.py must be a new Python file" in error
    assert "hint: dpcp-audit new-claim" in error
    assert main(["new-claim", str(tmp_path / "new.py"), "--paper", "a 'b'"]) == 2
    assert not (tmp_path / "new.py").exists()
