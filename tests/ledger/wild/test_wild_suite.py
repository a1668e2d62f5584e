"""Recipes of public repositories, on small stand-ins of our own in place of adapters."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from update_libraries import page

from dpcp_audit.engine import suites
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks import recipes
from dpcp_audit.target_checks.recipes import Recipe
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.wild import adapters, wild_suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WILD = {each.name: each for each in wild_suite.wild_recipes()}
WITH_FINDINGS = [each for each in WILD.values() if each.findings]
READINGS = {"fed-ldp-fit"}
RANDOMISED = """
import numpy as np
from helpers import share


def rr_mechansim(data, alpha):
    answers = np.random.binomial(1, share(alpha), len(data))
    return np.where(data, answers, 1 - answers)
"""
STATED = "import numpy as np\n\n\ndef share(alpha):\n    return 1 / (1 + np.exp(-alpha))\n"
DOUBLED = STATED.replace("-alpha", "-2 * alpha")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setenv(recipes.CHECKOUTS, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for caches in (adapters.module_of, suites._default_rows):
        caches.cache_clear()
    yield tmp_path
    for caches in (adapters.module_of, suites._default_rows):
        caches.cache_clear()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class TestCatalogue:
    def test_twelve_repositories_are_run(self) -> None:
        assert len({each.repository for each in WILD.values()}) >= 12

    @pytest.mark.parametrize("name", sorted(WILD))
    def test_each_names_its_commit_its_date_and_its_promise(self, name: str) -> None:
        recipe = WILD[name]
        assert len(recipe.commit) == 40
        assert int(recipe.commit, 16)
        assert len(recipe.audited) == len("2026-01-01")
        assert recipe.documentation.startswith(f"https://github.com/{recipe.repository}")
        assert '"' in recipe.promise or recipe.name == "dppack"
        assert recipe.summary

    @pytest.mark.parametrize("name", sorted(WILD))
    def test_every_target_is_there_without_a_clone(self, name: str) -> None:
        for spec in WILD[name].config.checks:
            with spec.target.open() as target:
                assert target.kind is spec.target.kind


class TestCheckouts:
    def test_nothing_is_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(recipes.CHECKOUTS, raising=False)
        assert WILD["dpinf"].obstacle() == (
            "no checkout of Biaomei536/dpinf; git clone https://github.com/Biaomei536/dpinf "
            "FOLDER/dpinf, and set DPCP_CHECKOUTS=FOLDER"
        )

    def test_no_clone_is_there(self, folder: Path) -> None:
        with pytest.raises(UsageError, match=rf"git clone \S+/dpinf {folder}/dpinf$"):
            recipes.checkout("Biaomei536/dpinf")
        with pytest.raises(UsageError, match="no checkout of Biaomei536/dpinf"):
            adapters.answered_bit(1, epsilon=1.0)

    def test_a_program_that_is_missing(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "DPpack").mkdir()
        monkeypatch.setenv("PATH", str(folder))
        assert WILD["dppack"].obstacle() == "Rscript is not installed"

    def test_a_module_that_the_code_needs(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "private_prediction_sets").mkdir()
        monkeypatch.setattr(recipes, "find_spec", lambda name: None)
        assert WILD["private-prediction-sets"].obstacle() == (
            "aangelopoulos/private_prediction_sets needs tqdm: pip install tqdm"
        )

    def test_the_version_is_the_commit_of_the_clone(self, folder: Path) -> None:
        write(folder, {"dpinf/.git/HEAD": "ref: refs/heads/main\n"})
        assert WILD["dpinf"].version() == "Biaomei536/dpinf"
        write(folder, {"dpinf/.git/refs/heads/main": "0123456789abcdef\n"})
        assert WILD["dpinf"].version() == "Biaomei536/dpinf 0123456"
        write(folder, {"dpinf/.git/HEAD": "fedcba9876543210\n"})
        assert WILD["dpinf"].version() == "Biaomei536/dpinf fedcba9"

    def test_modules_of_one_name_do_not_meet(self, folder: Path) -> None:
        write(folder, {"one/utils.py": "NAME = 1\n", "two/utils.py": "NAME = 2\n"})
        assert adapters.module_of("of/one", "utils").NAME == 1
        assert adapters.module_of("of/two", "utils").NAME == 2
        assert "utils" not in sys.modules
        assert str(folder / "one") not in sys.path


class TestRun:
    def test_without_clones_the_run_ends_well_and_says_what_is_missing(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", "--suite", "wild", "--jobs", "1", "--report", "json=r.json"]) == 0
        document: Any = json.loads((folder / "r.json").read_text())
        assert document["findings"] == []
        assert {each["name"] for each in document["skipped"]} == set(WILD)
        text = page(document, wild_suite.wild_recipes())
        assert "Of 0 claims 0 are refuted" in text
        assert "- dpinf: no checkout of Biaomei536/dpinf" in text
        assert "2026-11-25 at 8f29e6e" in text

    @pytest.mark.parametrize(
        ("share", "verdict"), [(STATED, Verdict.CONSISTENT), (DOUBLED, Verdict.REFUTED)]
    )
    def test_a_clone_is_audited_as_it_is(self, folder: Path, share: str, verdict: Verdict) -> None:
        write(folder, {"dpinf/tool_function.py": RANDOMISED, "dpinf/helpers.py": share})
        main(["run", "--suite", "wild", "--jobs", "1", "--report", "json=r.json"])
        document: Any = json.loads((folder / "r.json").read_text())
        assert [(each["id"], each["verdict"]) for each in document["findings"]] == [
            ("dpinf-bit[localdp:epsilon=1]", str(verdict))
        ]
        text = page(document, wild_suite.wild_recipes())
        again = "DPCP_CHECKOUTS=clones dpcp-audit check --recipe dpinf"
        assert (again in text) is (verdict is Verdict.REFUTED)

    def test_what_is_known_is_expected_and_the_rest_is_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Recipe, "obstacle", lambda self: "")
        monkeypatch.setattr(Recipe, "version", lambda self: f"{self.repository} 0")
        known = {each.check for recipe in WITH_FINDINGS for each in recipe.findings}
        claims = {row.claim.subject: row.claim for row in wild_suite.rows()}
        assert known <= set(claims)
        for name, claim in claims.items():
            assert (claim.expected is Verdict.REFUTED) is (name in known)
            assert (claim.standing is Standing.READING) is (name in READINGS)


class TestAdapters:
    """Adapters hand over what the repositories' own experiments do."""

    def test_running_counts_take_the_noise_of_each_prefix(self, folder: Path) -> None:
        tree = "class KaryTreeNoise:\n    def __init__(self, eps, max_time):\n        pass\n\n"
        tree += "    def prefix_noise(self, t):\n        return 10 * t\n"
        name = "DP_CC_quantiles/quantiles_with_continual_counting/k_ary_tree_noise.py"
        write(folder, {name: tree})
        found = adapters.continual_counts(np.array([1.0, 0.1, 0.9]), epsilon=1.0)
        np.testing.assert_array_equal(found, [11, 21, 32])

    def test_data_are_sorted_where_a_mechanism_takes_sorted_data(self, folder: Path) -> None:
        text = "def single_quantile(data, bounds, quantile, epsilon, swap):\n    return data[0]\n"
        write(folder, {"DP_CC_quantiles/DP_AQ/single_quantile_algo.py": text})
        scores = np.array([0.5, 0.2, 0.7])
        assert adapters.approximate_quantile(scores, level=0.9, epsilon=1.0) == 0.2
        assert scores[0] == 0.5
