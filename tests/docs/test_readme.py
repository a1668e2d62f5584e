"""The README: short, its example runs, its links work on a package index, its findings matter."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import update_findings
from PIL import Image

from dpcp_audit.engine.suites import suite
from dpcp_audit.words.results import Standing, Verdict

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FINDINGS = README.split("<!-- findings -->")[1].split("<!-- /findings -->")[0]


def test_it_is_short() -> None:
    assert len(README.split()) <= 1500


def test_the_python_example_refutes_the_quantile_with_too_little_noise(
    capsys, monkeypatch, tmp_path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _of_pytest = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  (the README's own words)
    verdict, certified = capsys.readouterr().out.split()
    assert verdict == "REFUTED"
    assert float(certified) > 1
    assert "<html" in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_links_are_absolute_and_lead_to_files_of_the_repository() -> None:
    """A package index knows no relative links."""
    source = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"][
        "Source"
    ]
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    assert len(links) > 10
    for link in links:
        place = re.fullmatch(re.escape(source) + r"/(?:blob|tree|raw)/main/(.+)", link)
        assert place is not None, link
        assert (ROOT / place[1]).exists(), link


def test_its_findings_are_refuted_claims_of_the_papers_as_printed() -> None:
    rows = {row.claim.id: row.claim for row in suite()}
    ids = re.findall(r"<br>`([^`]+)`", FINDINGS)
    assert ids == list(update_findings.MATTER_MOST)
    shown = [rows[id_] for id_ in ids]
    assert {claim.standing for claim in shown} == {Standing.PAPER}
    assert {claim.expected for claim in shown} == {Verdict.REFUTED}


def test_its_numbers_are_those_of_the_page_of_findings() -> None:
    """Both are of one run: ``python docs/update_findings.py papers.json`` renews them."""
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| .*<br>(`[^`]+` .*\|)$", FINDINGS, re.MULTILINE):
        id_, source, promised, found = row.removesuffix(" |").split(" | ")
        (full,) = (line for line in page.splitlines() if line.startswith(f"| {id_}:"))
        assert f" | {source} | {promised} | " in full
        assert full.endswith(f"{found} |")
    assert FINDINGS.strip().splitlines()[-1] in page


def test_its_picture_shows_the_counts_that_it_prints() -> None:
    """``python docs/update_picture.py papers.json`` draws it, and writes its counts into it."""
    with Image.open(ROOT / "docs" / "report.png") as picture:
        shown = picture.text
    assert shown["overall"] in README
    assert f"{shown['claims']} claims test all this" in README
    counts = r"(\d+) of (\d+) statements tested as printed are refuted"
    said = re.fullmatch(counts, shown["headline"])
    assert said is not None
    assert f"tests {said[2]} as printed" in README
    assert f": {said[1]} refuted as printed" in README
