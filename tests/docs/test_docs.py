"""The documentation: commands run, the ledger is that of the suite, every key is explained."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.engine.suites import suite
from dpcp_audit.faces.cli import main, run_commands
from dpcp_audit.reports.formats.markdown import escaped
from dpcp_audit.theorems.catalogue import CATALOGUE
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row

DOCS = Path(__file__).parents[2] / "docs"
LEDGER = (DOCS / "ledger.md").read_text(encoding="utf-8")
PAGES = [page for page in DOCS.rglob("*.md") if not {"_build", "api"} & set(page.parts)]


def script(path: str) -> Any:
    """Load a module of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_of_the_page_on_lines_does_what_it_says(tmp_path) -> None:
    """``update_tutorial.py docs/which_line.md`` renews it; the line that leaks is the same.

    Of the tutorial's own commands ``.ci/run`` sees it, where no more than they install is there.
    """
    page = (DOCS / "which_line.md").read_text(encoding="utf-8")
    tutorial = script("update_tutorial.py")
    again = tutorial.executed(page, tmp_path)
    assert tutorial.told(again) == tutorial.told(page)
    assert "  line      mine.py:13: count = " in again


def test_the_tutorial_tells_what_its_commands_are_there_to_show() -> None:
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    outputs = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    told = (
        ("REFUTED", "exit code 1"),
        ("reproduced",),
        ("1 consistent, 1 proved", "exit code 0"),
        ("2 passed",),
    )
    for output, words in zip(outputs, told, strict=True):
        assert all(word in output for word in words)


def test_the_times_that_pytest_prints_are_left_out(tmp_path) -> None:
    """A slow machine has minutes and hours to print."""
    words = "echo '2 passed in 0.61s'; echo '9 failed in 3723.00s (1:02:03)'"
    shown = script("update_tutorial.py").executed(f"```console\n$ {words}\n```", tmp_path)
    assert shown.endswith("2 passed\n9 failed\n```")


def test_a_newcomer_has_what_the_tutorial_calls() -> None:
    """The README's first command installs no pytest, and the tutorial says how to get it."""
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    (first,) = re.findall(r"<!-- run-command -->\n```sh\n(.*)\n```", readme)
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    installed = [*project["dependencies"], *extras["report"]]
    assert "'.[report]'" in first
    assert "--group" not in first
    assert not any(each.startswith("pytest") for each in installed)
    before, called, _ = (DOCS / "tutorial.md").read_text(encoding="utf-8").partition("$ pytest")
    assert called
    assert "`pip install pytest`" in before


def test_the_example_of_the_first_page_refutes_and_replays(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "index.md", "exec"), names)  # noqa: S102  (the page's own words)
    assert "REFUTED" in capsys.readouterr().out
    assert names["result"]["pure_dp"].verdict is Verdict.REFUTED
    assert names["result"]["coverage"].verdict is Verdict.CONSISTENT
    assert (tmp_path / "audit.html").exists()


def _ledger_rows() -> list[Row]:
    return [row for name in ("papers", "training", "tables", "related") for row in suite(name)]


def test_the_ledger_has_every_claim_of_its_suites() -> None:
    """``dpcp-audit ledger RESULTS --report markdown=docs/ledger.md`` renews it."""
    shown = dict(re.findall(r"^\| `([^`]+)`<br>.* \| ([A-Z]+) \|", LEDGER, re.MULTILINE))
    expected = {row.claim.id: row.claim.expected for row in _ledger_rows()}
    assert set(shown) == set(expected)
    for id_, verdict in shown.items():
        assert not Verdict(verdict).contradicts(expected[id_])


def test_the_ledger_has_the_statements_of_its_suites() -> None:
    for row in _ledger_rows():
        assert f"`{row.claim.id}`<br>{escaped(row.claim.statement)} (" in LEDGER


def test_the_ledger_counts_every_standing_of_its_suites() -> None:
    """A claim moved to another standing leaves the page's counts behind."""
    (table,) = re.findall(r"^\| standing \|.*\n(?:\|.*\n)+", LEDGER, re.MULTILINE)
    cells = (line.strip("| ").split(" | ") for line in table.splitlines()[2:])
    counted = {line[0].partition(":")[0]: int(line[-1]) for line in cells}
    assert counted == Counter(str(row.claim.standing) for row in _ledger_rows())


def test_every_key_of_the_schema_is_explained_and_no_other() -> None:
    keys = script("_ext/results_keys.py")
    table = keys.table()
    for key in (
        "seed",
        "findings[].evidence.sample.counts[].any_time",
        "findings[].figures[].marks",
    ):
        assert f"| `{key}`" in table
    assert "| `findings[].evidence.claimed` (optional) | number or null |" in table


def test_a_key_without_an_explanation_is_named(monkeypatch) -> None:
    keys = script("_ext/results_keys.py")
    said = keys.meanings()
    del said["seed"]
    monkeypatch.setattr(keys, "meanings", lambda: said | {"seeed": "a slip"})
    with pytest.raises(ValueError, match="differ in seed, seeed"):
        keys.table()


def test_links_that_leave_the_site_become_text(tmp_path) -> None:
    links = script("_ext/site_pages.py").without_outside_links
    site = tmp_path / "docs"
    (tmp_path / "folder").mkdir()
    shown = links(
        "[a](../README.md#x), [b](../folder), [c](other.md), [d](../e.py)", site / "p.md", site
    )
    assert shown == "a, b, [c](other.md), [d](../e.py)"
    assert links("[a](../p.md)", site / "howto" / "q.md", site) == "[a](../p.md)"


def test_pages_are_marked_for_screen_readers_once() -> None:
    marked = script("_ext/site_pages.py").marked
    plain = (
        '<p class="caption" role="heading"></p><aside class="sidebar-drawer"></aside><pre>x</pre>'
        '<th class="head text-left"><p></p></th><dl>\n<dd>a</dd>\n<dd>b</dd>\n</dl>'
    )
    page = marked(plain)
    assert page == (
        '<p class="caption" role="heading" aria-level="2"></p>'
        '<aside class="sidebar-drawer" aria-label="All pages"></aside><pre tabindex="0">x</pre>'
        '<td class="head text-left"></td>'
        '<ul class="parameters">\n<li>a</li>\n<li>b</li>\n</ul>'
    )
    assert marked(page) == page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_link_between_pages_leads_to_a_file(page) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_pages_that_are_generated_say_where_they_can_be_read() -> None:
    """GitHub shows a directive as its name, and no table."""
    made = re.compile(r"^```\{(?!toctree)", re.MULTILINE)
    generated = [page for page in PAGES if made.search(page.read_text("utf-8"))]
    site = "https://dpcp-audit.github.io/dpcp-audit"
    for page in generated:
        address = f"{site}/{page.relative_to(DOCS).with_suffix('.html').as_posix()}"
        assert f"]({address})" in page.read_text("utf-8"), page
    assert {page.stem for page in generated} >= {"checks", "options", "command_line"}


def test_options_that_pages_name_exist(pytestconfig: pytest.Config) -> None:
    """Every ``--option`` of a page is one of the command line, of the plugin or of another tool."""
    known = set(re.findall(r"--[a-z][a-z-]+", _helps(pytestconfig))) | {"--group"}
    for page in PAGES:
        for option in re.findall(r"--[a-z][a-z-]+", page.read_text(encoding="utf-8")):
            assert option in known, f"{page.name}: {option}"


def _helps(pytestconfig: pytest.Config) -> str:
    (commands,) = (each for each in main.parser_of_commands()._actions if each.dest == "command")
    helps = [command.format_help() for command in commands.choices.values()]
    helps += [run_commands.parser_of(named).format_help() for named in CATALOGUE]
    studies = (DOCS.parent / "benchmarks").rglob("*.py")
    helps += [
        line for path in studies for line in re.findall(r'"--[a-z-]+"', path.read_text("utf-8"))
    ]
    return "".join([*helps, pytestconfig._parser.optparser.format_help()])
