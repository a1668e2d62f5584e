"""Results in Python: looked up, shown on a screen, drawn, written and replayed."""

from __future__ import annotations

import html.parser
import json
import math

import matplotlib as mpl
import numpy as np
import pytest
from support.report_document import document

import dpcp_audit as dp
from dpcp_audit.engine.suites import suite
from dpcp_audit.faces.result import ClaimResult, html_table, row_of
from dpcp_audit.reports.sentences import sentence
from dpcp_audit.words.results import Finding

mpl.use("agg")


def drift(scores, size, *, rng) -> np.ndarray:
    return scores.mean() + rng.laplace(scale=0.2 / len(scores), size=size)


@pytest.fixture(scope="module")
def result() -> dp.Result:
    settings = {"n": 20, "vectorised": True, "draws": 2000}
    return dp.audit(drift, dp.PureDP(1.0), dp.ZCDP(9.0), dp.Coverage(0.9), **settings)


def wide() -> dp.Result:
    """Return a result of a hundred claims with the longest texts that reports meet."""
    results = document()
    entry = results["findings"][0]
    results["findings"] = [
        entry | {"id": f"a.{i}" + "[long]" * 30, "note": "word " * 300, "error": "é" * 500}
        for i in range(100)
    ]
    (claim, *_) = (row.claim for row in suite())
    finding = Finding(claim=claim, outcome=None, error="e")
    claims = tuple(
        ClaimResult(key=each["id"], finding=finding, entry=each, again=dict)
        for each in results["findings"]
    )
    return dp.Result(claims=claims, document=results)


def fits(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) <= 24 and max(map(len, lines)) <= 80


def test_claims_are_found_by_kind_id_and_place(result) -> None:
    assert result["zcdp"] is result[1]
    assert result["pure-dp"] is result["pure_dp"] is result[result[0].id]
    assert len(result) == len(list(result)) == 3
    with pytest.raises(KeyError, match="no claim is called 'zcpd': did you mean 'zcdp'"):
        result["zcpd"]


def test_a_result_has_no_truth_value(result) -> None:
    for each in (result, result[0]):
        with pytest.raises(TypeError, match="'not refuted' is not 'true'"):
            bool(each)


def test_the_verdict_is_the_worst(result) -> None:
    verdicts = {each.verdict for each in result}
    assert len(verdicts) > 1
    assert result.verdict is dp.Verdict.REFUTED


def test_a_claim_holds_estimate_and_witness(result) -> None:
    claim = result["pure_dp"]
    assert claim.estimate.lower > 1.0
    assert claim.estimate.claimed == 1.0
    assert {"value", "neighbour"} <= claim.witness.keys()
    assert claim.claim.startswith("drift is 1-differentially private")


def test_texts_fit_a_screen(result) -> None:
    assert fits(repr(result))
    assert all(fits(repr(each)) for each in result)
    assert repr(result).splitlines()[0] == "2 of 3 claims are refuted"
    many = wide()
    assert fits(repr(many))
    assert fits(repr(many[0]))
    assert "... and 82 more" in repr(many)
    assert repr(many).splitlines()[1].startswith("all 100, controls and readings too: ")


def test_what_would_have_been_refuted_is_on_the_screen(result) -> None:
    claim = next(each for each in result if each.power is not None)
    assert "calls would catch" in " ".join(repr(claim).split())
    assert claim.power.smallest == float(claim.entry["power"]["smallest"])


def test_a_proof_is_on_the_screen(result) -> None:
    assert all(each.proof is None for each in result)  # they are sampled
    assert not any(f"\n{'proof':<10} " in repr(each) for each in result)
    assert f"\n{'proof':<10} Proved by closed form: A report's log-ratio is ε." in repr(wide()[0])


def test_a_long_sentence_keeps_the_hint_at_its_end(result) -> None:
    results = document()
    failed = {"evidence": None, "error": "word " * 300, "hint": "add noise"}
    entry = results["findings"][0] | failed
    results["findings"] = [entry]
    claim = ClaimResult(key="zcdp", finding=result[0].finding, entry=entry, again=dict)
    told = dp.Result(claims=(claim,), document=results)
    shown = (repr(told), repr(claim), claim._repr_html_())
    assert all("Hint: add noise." in " ".join(each.split()) for each in shown)


class Rows(html.parser.HTMLParser):
    """Counts the rows of a table, and the tags that are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = self.open = 0

    def handle_starttag(self, tag, attrs) -> None:
        self.rows += tag == "tr"
        self.open += 1

    def handle_endtag(self, tag) -> None:
        self.open -= 1


def test_html_fits_a_screen_and_escapes() -> None:
    many = wide()
    many.claims[0].entry["error"] = "<script>"
    for shown in (many._repr_html_(), many[0]._repr_html_()):
        parser = Rows()
        parser.feed(shown)
        assert parser.rows <= 20
        assert parser.open == 0
        assert "<script>" not in shown
    cells = [row_of("<b>", many[0].entry)]
    assert "&lt;b&gt;" in html_table(many.document, cells)


def test_a_notebook_shows_the_sentence_of_each_claim(result) -> None:
    shown = result._repr_html_()
    assert all(html.escape(sentence(each.entry)) in shown for each in result)


def test_the_frame_has_a_row_for_each_claim(result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert list(frame["claim"]) == ["pure_dp", "zcdp", "coverage"]
    assert frame["lower"].dtype == np.float64
    assert frame.loc[0, "claimed"] == 1.0


def test_every_figure_can_be_drawn(result) -> None:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    axes = plt.subplots()[1]
    assert result["coverage"].plot(axes) is axes
    assert axes.get_title() == result["coverage"].figures[0]["title"]
    for each in result:
        for number in range(len(each.figures)):
            assert each.plot(figure=number).has_data()
    assert result.plot().has_data()
    plt.close("all")


def test_a_heat_map_can_be_drawn() -> None:
    figure = {
        "kind": "heatmap",
        "title": "t",
        "x_label": "n",
        "y_label": "",
        "series": [{"name": "a", "x": [1.0, 2.0], "y": [0.1, 0.9], "texts": []}],
        "marks": {"limit": 0.5},
        "columns": [],
    }
    claim = wide()[0]
    claim.entry["figures"] = [figure]
    assert claim.plot().get_title() == "t"


def test_a_proved_claim_is_drawn_beside_its_promise() -> None:
    def noisy(scores, *, rng) -> float:
        return np.mean(scores) + rng.laplace(scale=1 / len(scores))

    claim = dp.audit(noisy, dp.PureDP(2.0), n=20)["pure_dp"]
    assert claim.verdict is dp.Verdict.PROVED
    assert claim.figures == []
    axes = claim.plot()
    assert "ε" in axes.get_xlabel()
    (legend,) = axes.get_legend().get_texts()
    assert legend.get_text() == "found: PROVED"
    assert any("promised" in text.get_text() for text in axes.texts)


def test_a_figure_that_is_not_there_is_named(result) -> None:
    with pytest.raises(ValueError, match="figure must be below 1, .* got 7"):
        result["zcdp"].plot(figure=7)


def test_every_format_is_chosen_by_its_suffix(result, tmp_path) -> None:
    for suffix in (".html", ".json", ".md", ".csv", ".sarif", ".xml"):
        path = result.report(tmp_path / f"audit{suffix}")
        assert path.stat().st_size > 100
    assert json.loads((tmp_path / "audit.json").read_text()) == result.document
    with pytest.raises(ValueError, match=r"path must end in one of .*, got 'a.pdf'"):
        result.report("a.pdf")


def test_replays_agree_and_a_changed_function_does_not() -> None:
    noise = {"scale": 0.1}

    def adjustable(scores, size, *, rng) -> np.ndarray:
        return scores.mean() + rng.laplace(scale=noise["scale"] / len(scores), size=size)

    result = dp.audit(adjustable, dp.PureDP(1.0), n=20, vectorised=True, draws=1000)
    assert result.replay()
    noise["scale"] = 2.0
    assert not result.replay()


def test_a_report_in_a_folder_that_is_not_there_names_the_folder(result, tmp_path) -> None:
    with pytest.raises(ValueError, match="path: the folder .*absent does not exist"):
        result.report(tmp_path / "absent" / "audit.html")


def keeps_or_tells(value, *, rng) -> object:
    return bool(value) if rng.random() < 0.5 else value


def types_tell(value, *, rng) -> object:
    told = rng.random() < 0.5
    return np.int64(told) if value else int(told)


def test_an_output_that_is_a_truth_value_is_named() -> None:
    result = dp.audit(keeps_or_tells, dp.LocalDP(1.0), kind="randomizer", domain=2)
    assert result["local_dp"].verdict is dp.Verdict.REFUTED
    assert "the output False" in " ".join(str(result).split())


@pytest.mark.known_bad
def test_a_type_alone_that_tells_the_value_warns_and_is_refuted_when_strict() -> None:
    settings = {"kind": "randomizer", "domain": 2}
    warned = dp.audit(types_tell, dp.LocalDP(1.0), **settings)["local_dp"]
    assert warned.verdict is dp.Verdict.CONSISTENT
    assert "how equal numbers are written" in warned.finding.outcome.witness["representation"]
    strict = dp.audit(types_tell, dp.LocalDP(1.0), representation="strict", **settings)
    assert strict["local_dp"].verdict is dp.Verdict.REFUTED
    assert "the output 1 (of type int)" in " ".join(str(strict).split())


def randomised(value, *, rng, other=math.e + 3) -> object:
    """Randomised response as it is written most: Python's value, or one that NumPy draws."""
    if rng.random() < math.e / other:
        return value
    drawn = rng.integers(3)
    return drawn if drawn < value else drawn + 1


def test_randomised_response_with_numpys_other_values_is_not_refuted() -> None:
    """Its planted bug, of e/(e + 2) for e/(e + 3), is: the output alone shows it."""
    settings = {"kind": "randomizer", "domain": 4}
    right = dp.audit(randomised, dp.LocalDP(1.0), **settings)["local_dp"]
    assert right.verdict is dp.Verdict.CONSISTENT
    assert right.finding.outcome.witness["representation"]
    wrong = dp.audit(randomised, dp.LocalDP(1.0), options={"other": math.e + 2}, **settings)
    assert wrong["local_dp"].verdict is dp.Verdict.REFUTED


def test_a_budget_of_time_is_taken_by_a_check_that_is_decided_without_samples() -> None:
    def truthful(value, *, rng) -> int:
        return value if rng.random() < math.e / (1 + math.e) else 1 - value

    result = dp.audit(truthful, dp.LocalDP(1.0), kind="randomizer", domain=2, budget=120)
    assert result["local_dp"].verdict is dp.Verdict.PROVED
