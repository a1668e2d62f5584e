"""Recipes: which there are, what is skipped and how it is said, and the adapters."""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import packages

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks import config_file, recipes
from dpcp_audit.target_checks.recipes import Recipe
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words.checks import Skipped
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.results import Verdict
from dpcp_ledger.libraries import adapters
from dpcp_ledger.mechanisms.histlap import SplitConformal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpcp_audit.words.results import Finding


LIBRARIES = [
    each for each in recipes.names() if each != "reference" and not recipes.load(each).repository
]
FOUND = [each for each in map(recipes.load, recipes.names()) if each.findings]


def recipe(**about: str) -> Recipe:
    check = {
        "target": "statistics:median",
        "kind": "quantile",
        "randomness": "none",
        "pure-dp": 1.0,
    }
    return Recipe.from_data({"recipe": about, "check": [check]}, name="mine")


def probabilities_of(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(4), n)
    return table, rng.integers(4, size=n)


class TestCatalogue:
    @pytest.mark.parametrize("name", [*LIBRARIES, "reference"])
    def test_every_target_is_there_and_can_be_called_as_its_kind_is(self, name: str) -> None:
        found = recipes.load(name)
        assert found.summary
        assert found.promise
        for spec in found.config.checks:
            with spec.target.open() as target:
                assert target.kind is spec.target.kind

    @pytest.mark.parametrize("name", LIBRARIES)
    def test_libraries_name_a_page_and_what_to_install(self, name: str) -> None:
        found = recipes.load(name)
        assert found.documentation.startswith("https://")
        assert found.distribution
        assert found.module

    @pytest.mark.parametrize("recipe", FOUND, ids=lambda recipe: recipe.name)
    def test_each_finding_is_a_report_that_can_be_sent(self, recipe: Recipe) -> None:
        for each in recipe.findings:
            assert each.title
            assert each.where
            assert len(each.report) > 200
            assert "print(" in each.reproduce
            ast.parse(each.reproduce)

    def test_all_is_every_recipe_once(self) -> None:
        selected = recipes.select(["reference", "all"])
        assert sorted(each.name for each in selected) == recipes.names()
        assert selected[0].name == "reference"

    def test_unknown_name(self) -> None:
        with pytest.raises(
            UsageError, match="no recipe is called 'opendp-quantil'\nhint: did you mean"
        ):
            recipes.load("opendp-quantil")
        with pytest.raises(
            UsageError, match=r"no recipe is called 'x'\nhint: use .*reference, .*all"
        ):
            recipes.load("x")

    def test_efforts_replace_those_of_the_recipe(self) -> None:
        (spec,) = recipes.load("diffprivlib-quantile", {"budget": "7s"}).config.checks
        assert (spec.budget, spec.draws) == (7, None)
        assert {s.draws for s in recipes.load("reference", {"draws": 700}).config.checks} == {700}

    def test_unknown_key(self) -> None:
        with pytest.raises(
            UsageError, match="mine: unknown key 'modul'\nhint: did you mean 'module'"
        ):
            recipe(modul="numpy")


class TestObstacles:
    def test_nothing_is_needed(self) -> None:
        assert recipe().obstacle() == ""

    def test_installed(self) -> None:
        assert recipe(distribution="numpy", module="numpy").obstacle() == ""

    def test_not_installed(self) -> None:
        missing = recipe(distribution="no-such-library", module="numpy")
        assert missing.obstacle() == (
            "no-such-library is not installed: pip install no-such-library"
        )

    def test_installed_but_does_not_import(self) -> None:
        broken = recipe(distribution="numpy", module="numpy.no_such_part")
        assert broken.obstacle() == (
            f"numpy {np.__version__} cannot be imported here "
            "(ModuleNotFoundError: No module named 'numpy.no_such_part')"
        )

    def test_what_cannot_run_is_skipped_and_the_rest_is_kept(self) -> None:
        here, missing = recipe(), recipe(distribution="no-such-library", module="no_such")
        config, skipped = recipes.runnable([missing, here])
        assert config.checks == here.config.checks
        assert [each.name for each in skipped] == ["mine"]


@pytest.fixture
def without_opendp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    def obstacle(self: Recipe) -> str:
        return "opendp is not installed: pip install opendp" if "opendp" in self.name else ""

    monkeypatch.setattr(Recipe, "obstacle", obstacle)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestCommand:
    def test_a_skipped_recipe_is_said_so_and_is_no_failure(
        self, without_opendp: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code = main(["check", "--recipe", "opendp-quantile", "--report", "json=r.json"])
        document = json.loads((without_opendp / "r.json").read_text())
        reason = "opendp is not installed: pip install opendp"
        assert code == 0
        assert document["skipped"] == [{"name": "opendp-quantile", "reason": reason}]
        assert f"skipped: opendp-quantile: {reason}" in capsys.readouterr().out

    def test_strict_runs_are_incomplete_without_it(self, without_opendp: Path) -> None:
        assert main(["check", "--recipe", "opendp-quantile", "--strict"]) == 3

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["mine.py:f", "--kind", "quantile"], "--recipe cannot be combined with TARGET"),
            (["--pure-dp", "1"], "--recipe cannot be combined with --pure-dp"),
            (["--config", "c.toml"], "--recipe cannot be combined with --config"),
            (["--draws", "0"], "draws must be a whole number >= 1, got 0"),
        ],
    )
    def test_wrong_uses(
        self, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["check", "--recipe", "reference", *more]) == 2
        assert message in capsys.readouterr().err

    def test_settings_keep_what_was_skipped(self) -> None:
        skipped = Skipped(name="a", reason="b")
        settings = RunSettings(suite="targets", skipped=(skipped,))
        assert RunSettings.of_document(settings.as_data()) == settings


class TestThresholdOfSets:
    """The threshold that is read off sets covers what they cover."""

    @pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 10, 82, 200])
    @pytest.mark.parametrize("cutoff", [-0.1, 0.0, 0.03, 0.2, 0.5, 0.97, 1.1])
    def test_every_calibration_record_is_judged_as_by_the_sets(self, n: int, cutoff: float) -> None:
        table, labels = probabilities_of(n)
        asked: list[int] = []

        def in_sets(records: np.ndarray) -> np.ndarray:
            np.testing.assert_allclose(records.sum(axis=1), 1)
            asked.append(len(records))
            return records[:, 0] >= cutoff

        threshold = adapters._threshold(table, labels, in_sets=in_sets)
        true = table[np.arange(n), labels]
        np.testing.assert_array_equal(1 - true <= threshold, true >= cutoff)
        assert len(asked) <= 3
        assert np.isposinf(threshold) == (cutoff <= 0)

    def test_ties_and_strict_sets(self) -> None:
        table = np.array([[0.2, 0.8]] * 5 + [[0.6, 0.4]] * 5)
        labels = np.zeros(10, dtype=np.int64)
        for cutoff, threshold in ((0.2, 1 - 0.6), (0.6, -np.inf), (0.1, 1 - 0.2)):
            found = adapters._threshold(
                table, labels, in_sets=lambda records, c=cutoff: records[:, 0] > c
            )
            assert found == threshold

    def test_given_probabilities_are_a_classifier(self) -> None:
        classifier = adapters.GivenProbabilities(np.arange(2))
        features = np.array([[0.1, 0.9], [0.7, 0.3]])
        assert classifier.fit(features, np.zeros(2)) is classifier
        np.testing.assert_array_equal(classifier.predict_proba(features), features)
        np.testing.assert_array_equal(classifier.predict(features), [1, 0])


@pytest.mark.parametrize("n", [10, 19, 99, 100, 230])
@pytest.mark.parametrize(
    ("library", "calibrate", "options"),
    [
        (
            "mapie.classification",
            adapters.mapie_split_conformal,
            {"confidence_level": 0.9},
        ),
        ("crepes", adapters.crepes_split_conformal, {"confidence": 0.9}),
    ],
)
def test_libraries_calibrate_as_split_conformal_prediction_does(
    library: str, calibrate: Any, options: dict[str, float], n: int
) -> None:
    """Where 1 − 0.9 is rounded, it is rounded in the sets' favour, by at most one score."""
    pytest.importorskip(library, reason=f"{library} is not installed (the extra 'targets')")
    table, labels = probabilities_of(n)
    scores = np.sort(1 - table[np.arange(n), labels])
    exact = SplitConformal(alpha=0.1).threshold(scores)
    found = calibrate(table, labels, **options)
    assert 0 <= np.searchsorted(scores, found) - np.searchsorted(scores, exact) <= 1


def test_opendp_spends_what_it_is_given() -> None:
    pytest.importorskip("opendp.prelude", reason="opendp is not installed (the extra 'targets')")
    for epsilon, rho, size in ((1.0, None, None), (1.0, None, 20), (None, 0.5, None)):
        measurement = adapters._opendp_measurement(
            0.9, 21, size, epsilon=epsilon, rho=rho, scale=None
        )
        spent = measurement.map(1 if size is None else 2)
        assert spent == pytest.approx(epsilon or rho, rel=1e-6)
    with pytest.raises(ValueError, match="give one of epsilon, rho and scale, got None"):
        adapters.opendp_quantile(np.zeros(3), level=0.9, n_candidates=3)


DRAWS = 131_072
OURS = {
    "pcoqs": ({"rho": 2.0}, 32_768),
    "histlap": ({"epsilon": 2.0}, DRAWS),
    "ldpcp-label": ({"epsilon": 2.5}, 4096),
    "ldpcp-score-bit": ({"epsilon": 2.5}, 4096),
    "split-conformal": ({"alpha": 0.12}, 4096),
}
"""What is changed, and the draws that show it.

Bits and labels are traced on every pair, whatever the draws. Of split conformal prediction 4096
draws refute a coverage of 0.885 with probability 0.95, by the power that the check states: 0.88 is
some ten standard errors further.
"""
THEIRS = {
    "diffprivlib-quantile": ({"epsilon": 6.0}, 16_384),  # Python, a call at a time
    "opendp-quantile": ({"epsilon": 2.0}, 65_536),
    "opendp-quantile-of-known-size": ({"epsilon": 2.0}, DRAWS),
    "opendp-quantile-by-gumbel-noise": ({"rho": 2.0}, DRAWS),
    "mapie-split-conformal": ({"confidence_level": 0.88}, 4096),
    "crepes-split-conformal": ({"confidence": 0.88}, 4096),
}
LONG = ("opendp-quantile-of-known-size", "opendp-quantile-by-gumbel-noise")
"""Half a minute each, of the same adapter; what it spends is tested above for every variant."""
SEARCHED = ("pcoqs", "opendp-quantile")
"""What no trace is needed for: the zoo traces bisections, and OpenDP's noise cannot be followed."""


def found(recipe: str, name: str, options: dict[str, Any], draws: int) -> Finding:
    """Run one check of a recipe, with other options than its claim is made for."""
    text = resources.files("dpcp_ledger.libraries").joinpath(f"{recipe}.toml")
    checks = tomllib.loads(text.read_text(encoding="utf-8"))["check"]
    (check,) = (dict(one) for one in checks if one["name"] == name)
    check |= {"options": check["options"] | options, "draws": draws}
    check |= {"trace": name not in SEARCHED}
    (spec,) = config_file.from_data({"check": [check]}).checks
    (row,) = rows_of_targets([spec])
    settings = RunSettings(suite="targets", targets=(spec,))
    return check_row(row, settings, significance=1e-7)


@pytest.mark.known_bad
@pytest.mark.parametrize("name", OURS)
def test_more_than_the_budget_is_caught(name: str) -> None:
    assert found("reference", name, *OURS[name]).verdict is Verdict.REFUTED


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("name", OURS)
def test_the_correct_twin_is_not_refuted(name: str) -> None:
    """False-alarm probability: 5e-7 in all, 1e-7 a check."""
    assert found("reference", name, {}, OURS[name][1]).verdict is Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.study] * (name in LONG)) for name in THEIRS]
)
def test_libraries_run_with_more_than_the_budget_are_caught(name: str) -> None:
    """OpenDP cannot be seeded: it is refuted with a probability near 1, on a few thousand draws."""
    recipe = "opendp-quantile" if name.startswith("opendp") else name
    module = recipes.load(recipe).module
    pytest.importorskip(module, reason=f"{module} is not installed (the extra 'targets')")
    assert found(recipe, name, *THEIRS[name]).verdict is Verdict.REFUTED


NAME = "laplace-counts"
FEW = ["--draws", "2000"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with the example package installed in it."""
    packages.install_recipe(tmp_path, monkeypatch)
    yield tmp_path
    sys.modules.pop("laplace_counts", None)


def test_it_is_known_behind_those_of_this_package_while_it_is_installed(folder: Path) -> None:
    assert recipes.names()[-1] == NAME
    found = recipes.load(NAME)
    assert found.obstacle() == ""
    assert [spec.target.target for spec in found.config.checks] == ["laplace_counts:histogram"]


def test_it_is_unknown_without() -> None:
    assert NAME not in recipes.names()


def test_it_runs_by_its_name(folder: Path) -> None:
    assert main(["check", "--recipe", NAME, *FEW]) == 0


@pytest.mark.known_bad
def test_a_quarter_of_its_noise_is_refuted(folder: Path) -> None:
    code = folder / "laplace_counts" / "__init__.py"
    code.write_text(code.read_text().replace("scale=2 / epsilon", "scale=0.5 / epsilon"))
    assert main(["check", "--recipe", NAME, "--draws", "20000"]) == 1


def test_a_name_of_this_package_is_nobody_else_s(folder: Path) -> None:
    packages.register(folder, "taker", group=recipes.GROUP, reference="laplace_counts")
    packages.clear()
    assert recipes.names().count("reference") == 1
    assert recipes.load("reference").summary.startswith("the mechanisms of this package")


def test_a_name_that_two_packages_register_is_refused(folder: Path) -> None:
    packages.register(folder, "taker", group=recipes.GROUP, **{NAME: "laplace_counts"})
    packages.clear()
    with pytest.raises(
        UsageError, match="registered by laplace-counts and taker\nhint: uninstall one"
    ):
        recipes.load(NAME)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere", "nowhere must be a package with a file absent.toml .ModuleNotFoundError"),
        ("laplace_counts", "laplace_counts must be a package with a file absent.toml .FileNotF"),
    ],
)
def test_a_recipe_that_is_not_where_it_should_be_is_told_in_one_line(
    folder: Path, place: str, words: str
) -> None:
    packages.register(folder, "forgetful", group=recipes.GROUP, absent=place)
    packages.clear()
    with pytest.raises(UsageError, match=words):
        recipes.load("absent")
