"""The page of checks: every public check has the five headings, or names the check that decides."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module

import dpcp_audit
import dpcp_ledger
from tests.docs.test_docs import DOCS, script

PAGE = script("_ext/checks.py")


def _checks() -> dict[str, type]:
    """Return the public classes that are called with a context and say if they are sampled."""
    found = {}
    for package in (dpcp_audit, dpcp_ledger):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if each.name.rpartition(".")[2].startswith("_"):
                continue
            module = import_module(each.name)
            for name, value in vars(module).items():
                public = inspect.isclass(value) and not name.startswith("_")
                if public and value.__module__ == each.name and _is_check(value):
                    found[name] = value
    return found


def _is_check(value: type) -> bool:
    if getattr(value, "_is_protocol", False) or not hasattr(value, "sampled"):
        return False
    return list(inspect.signature(value.__call__).parameters) == ["self", "context"]


def test_every_public_check_is_documented_under_five_headings() -> None:
    """A check that opens a target, or wraps another one, names the check that decides."""
    documented = {PAGE.class_of(each) for each in PAGE.CHECKS}
    checks = _checks()
    assert len(checks) >= 20
    missing = {
        name
        for name, check in checks.items()
        if check not in documented and not re.search(r"decided by .*``", inspect.getdoc(check))
    }
    assert missing == set()


def test_the_headings_of_a_check_stand_in_order_and_say_something() -> None:
    for each in PAGE.CHECKS:
        said = PAGE.fields_of(PAGE.class_of(each))
        assert tuple(said) == PAGE.HEADINGS, each.place
        assert all(len(text) > 10 and text.endswith(".") for text in said.values()), each.place


def test_every_row_that_a_check_names_was_counted() -> None:
    for each in PAGE.CHECKS:
        auditors = (DOCS / "levels.md").read_text("utf-8")
        assert all(f"\n| {row} | " in auditors for row in each.rows), each.place
    event = PAGE.section(PAGE.CHECKS[0])
    assert event.startswith("## Event rule\n\n**Null hypothesis.** P(E) ≤ e^ε·Q(E) + δ")
    assert "| ε-DP, Laplace | " in event
