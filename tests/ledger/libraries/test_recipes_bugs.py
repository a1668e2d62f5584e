"""Recipes whose code is run with more than the budget that it claims, or a lower level."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.target_checks import config_file, recipes
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.results import Finding

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
    "diffprivlib-quantile": {"epsilon": 3.0},
    "opendp-quantile": {"epsilon": 2.0},
    "opendp-quantile-of-known-size": {"epsilon": 2.0},
    "opendp-quantile-by-gumbel-noise": {"rho": 2.0},
    "mapie-split-conformal": {"confidence_level": 0.88},
    "crepes-split-conformal": {"confidence": 0.88},
}


def found(recipe: str, name: str, options: dict[str, Any], draws: int) -> Finding:
    """Run one check of a recipe, with other options than its claim is made for."""
    text = resources.files("dpcp_ledger.libraries").joinpath(f"{recipe}.toml")
    checks = tomllib.loads(text.read_text(encoding="utf-8"))["check"]
    (check,) = (dict(one) for one in checks if one["name"] == name)
    check |= {"options": check["options"] | options, "draws": draws}
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
@pytest.mark.parametrize("name", THEIRS)
def test_libraries_run_with_more_than_the_budget_are_caught(name: str) -> None:
    """OpenDP cannot be seeded: it is refuted with a probability near 1, on a few thousand draws."""
    recipe = "opendp-quantile" if name.startswith("opendp") else name
    module = recipes.load(recipe).module
    pytest.importorskip(module, reason=f"{module} is not installed (the extra 'targets')")
    draws = 4000 if "conformal" in name else DRAWS
    assert found(recipe, name, THEIRS[name], draws).verdict is Verdict.REFUTED
