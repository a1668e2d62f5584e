"""The suite of libraries: what is skipped, what is expected to be refuted, and its page."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from update_libraries import page

from dpcp_audit.engine import suites
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks.recipes import Recipe, load
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.libraries import adapters, libraries_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dpcp_audit.words.results import Finding

PUBLIC = {
    "private-prediction-sets[n=100]": "REFUTED",
    "private-prediction-sets[n=500]": "REFUTED",
    "private-prediction-sets[n=2400]": "CONSISTENT",
}
READINGS = {"diffprivlib-histogram-substitution", "opendp-quantile-of-scale-1"}
WITH_FINDINGS = [each for each in libraries_suite.library_recipes() if each.findings]


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(Recipe, "obstacle", lambda self: f"{self.distribution} is not installed")
    monkeypatch.chdir(tmp_path)
    suites._default_rows.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    suites._default_rows.cache_clear()
    adapters._pure_ldp_client.cache_clear()


class TestRun:
    def test_without_any_library_the_run_ends_well_and_says_what_is_missing(
        self, nothing_installed: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run = ["run", "--suite", "libraries", "--jobs", "1", "--report", "json=r.json"]
        code = main([*run, "-v"])
        document: Any = json.loads((nothing_installed / "r.json").read_text())
        assert code == 0
        assert {each["id"]: each["verdict"] for each in document["findings"]} == PUBLIC
        assert {each["name"] for each in document["skipped"]} >= {"pure-ldp", "opendp-quantile"}
        assert "skipped: pure-ldp: pure-ldp is not installed" in capsys.readouterr().out
        text = page(document, libraries_suite.library_recipes())
        assert "Of 3 claims 2 are refuted: 0 of what a library's code returns, 2 of" in text
        assert text.count("The repository's code is not run here: the law is computed") == 2
        assert text.count("The repository's code is not run: this package") == 3
        assert "Refuted under a reading" not in text
        assert "- puncc-split-conformal: puncc is not installed" in text

    def test_a_claim_whose_library_is_missing_says_so(
        self, nothing_installed: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for pattern in ("pure-ldp*", "pure-ldp[k=*", "pure-ldp-rappor"):
            assert main(["run", "--suite", "libraries", "--only", pattern]) == 2
            assert "pure-ldp is not installed" in capsys.readouterr().err
        assert main(["run", "--suite", "libraries", "--only", "nope*"]) == 2
        assert "is not installed" not in capsys.readouterr().err

    def test_strict_runs_are_incomplete_without_the_libraries(
        self, nothing_installed: Path
    ) -> None:
        only = ["--only", "private-prediction-sets[n=2400]"]
        assert main(["run", "--suite", "libraries", "--strict", "--jobs", "1", *only]) == 3


class TestFindings:
    def test_what_is_known_is_expected_and_the_rest_is_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Recipe, "obstacle", lambda self: "")
        monkeypatch.setattr(Recipe, "version", lambda self: f"{self.distribution} 0")
        rows = {row.claim.subject: row.claim for row in libraries_suite.rows()}
        known = {each.check for recipe in WITH_FINDINGS for each in recipe.findings}
        for name, claim in rows.items():
            if claim.id not in PUBLIC:
                assert (claim.expected is Verdict.REFUTED) is (name in known)
                assert (claim.standing is Standing.READING) is (name in READINGS)
        assert rows["pure-ldp-rappor"].source.paper == "pure-ldp 0"

    def test_a_finding_of_no_check(self) -> None:
        check = {
            "target": "statistics:median",
            "kind": "quantile",
            "randomness": "none",
            "pure-dp": 1.0,
        }
        finding = dict.fromkeys(("check", "title", "where", "report", "reproduce"), "x")
        data = {"recipe": {}, "check": [check], "finding": [finding]}
        with pytest.raises(UsageError, match="mine: finding: no check is called 'x'"):
            Recipe.from_data(data, name="mine")


class TestRappor:
    """A library in place of pure-ldp: with its loop that clears no bit, and with a right one."""

    @staticmethod
    def install(
        monkeypatch: pytest.MonkeyPatch, perturbed: Callable[[int, float, float], int]
    ) -> None:
        rng = np.random.default_rng(3)

        class Client:
            def __init__(self, f: float, m: int, hash_funcs: Any, **others: Any) -> None:
                self.f, self.m = f, m

            def convert_eps_to_f(self, epsilon: float) -> float:
                return 2 / (np.exp(epsilon / 2) + 1)

            def privatise(self, value: int) -> tuple[list[int], int]:
                bits = [int(place == value) for place in range(self.m)]
                return [perturbed(bit, float(rng.random()), self.f) for bit in bits], 0

        module = ModuleType("pure_ldp.frequency_oracles.rappor")
        module.RAPPORClient = Client  # type: ignore[attr-defined]
        for name in ("pure_ldp", "pure_ldp.frequency_oracles"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, module.__name__, module)

    @staticmethod
    def audited() -> Finding:
        (spec,) = load("pure-ldp-rappor").config.checks
        (row,) = libraries_suite.rows_of_targets([spec])
        return check_row(row, RunSettings(suite="libraries"), significance=1e-8)

    @pytest.mark.known_bad
    def test_bits_that_are_never_cleared_are_refuted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.install(monkeypatch, lambda bit, draw, f: int(bit == 1 or draw < f / 2))
        assert self.audited().verdict is Verdict.REFUTED

    @pytest.mark.statistical(false_alarm=1e-8)
    def test_bits_that_are_drawn_anew_are_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.install(monkeypatch, lambda bit, draw, f: int(draw < (1 - f / 2 if bit else f / 2)))
        assert self.audited().verdict is Verdict.CONSISTENT
