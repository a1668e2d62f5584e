"""Random expressions of each score: on every small input, what is proved bounds what a score moves.

Every input of four scores from four values is tried, so that a proof is compared with the largest
change that there is. The result must be of one type, and no input may raise an error alone: both
would tell the inputs apart however large the noise.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.targets.loading import load

N = 4
VALUES = (0.0, 0.3, 0.5, 1.0)
INPUTS = [*itertools.product(VALUES, repeat=N)]
PROGRAMS = 300
STUDIED = 10_000
BESIDE = (
    *["s in scores"] * 6, "i, s in enumerate(scores)", "w, s in enumerate(scores, -1)",
    "s, w in zip(scores, [0.5, 1.0, -2.0, 0.0])", "s, w in zip(scores, (0, 1, 2, 1), strict=True)",
    "s, w in zip(scores, scores)", "w, (s, i) in enumerate(zip(scores, np.array([1, 2, 0, 1])))",
    "s, w in zip(np.sort(scores), [1.0, 2.0, 3.0, 4.0])", "w, s in enumerate(scores[1:])",
)  # fmt: skip
"""What loops go through; in some of them ``w`` and ``i`` have values, too."""
SCALE, RARE = 1000.0, 0.001
"""The scale of Laplace noise, and p of geometric noise."""


class Expressions(random.Random):
    """Writes expressions."""

    def of_score(self, depth: int = 0) -> str:
        """Return an expression of one score ``s``."""
        if depth > 2:
            return self.choice(["s", "float(s)", "1", "0.5", "True", "s > 0.4", "2"])
        a, b = self.of_score(depth + 1), self.of_score(depth + 1)
        c = self.choice([0.2, 0.3, 0.5, 0.7, 1, 0, 2, 1.0, True])
        forms = [
            "s", f"float({a})", f"({a}) * {c}", f"min({a}, {c})", f"max({c}, {a})", f"abs({a})",
            f"({a} if s > 0.4 else {b})", f"({a} if 0.2 < s <= 0.7 else {c})", f"(s > {c})",
            "(not s > 0.4)", f"int(s > {c})", f"np.clip({a}, 0, 0.5)", f"np.abs({a})",
            f"({a}) ** 2", f"-({a})", f"({a}) + ({b})", f"({a}) - ({b})", f"({a}) * ({b})",
            "(s > 0.4 and s < 0.9)", f"(s > 0.4 or {a})", f"np.where(s > 0.4, {a}, {c})",
            f"np.maximum({a}, {c})", f"(0.2 < {a} < 0.7)", f"math.fabs({a})", f"({a}) / 2",
            f"({a}, {b})[0]", f"int({a})", f"int({a} * 3)", f"math.floor({a} / 0.1)", f"round({a})",
            f"min(int({a}), 2)", f"np.floor(s * {c})", f"({a}) ** {self.choice([1, 3, 4])}",
            f"np.square({a})", f"np.add({a}, {b})", f"np.multiply({c}, {a})", f"np.less({a}, {c})",
        ]  # fmt: skip
        return self.choice(forms)

    def of_scores(self) -> str:
        """Return an expression of all scores."""
        condition = self.choice(["", "", " if s > 0.4", " if s <= 0.5 and s > 0.1"])
        each = f"{self.of_score()} for s in scores{condition}"
        form = self.choice([
            "sum({})", "sum([{}])", "np.sum([{}])", "np.sum(np.array([{}]))", "math.fsum([{}])",
            "max([{}])", "np.max([{}])", "sorted([{}])[2]", "np.mean([{}])", "np.median([{}])",
            "np.count_nonzero([{}])", "np.sort(np.array([{}]))[1]",
            "np.searchsorted(np.sort([{}]), 0.4)",
            f"np.sum(np.array([{{}}]) + np.array([{self.of_score()} for s in scores]))",
            "np.bincount([{}], minlength=3)[1]", "np.average([{}])",
        ])  # fmt: skip
        return form.format(each.replace("s in scores", self.choice(BESIDE)))

    def bins(self) -> tuple[str, str]:
        """Return a loop that fills a histogram by hand, or one of whole numbers, and its name."""
        if self.random() < 0.2:
            number = self.choice(["(scores * 3)", "np.floor(scores / 0.4)", "np.rint(scores)"])
            text = self.choice(["{}", "np.minimum({}, 2)", "np.clip({}, 0, 2)"])
            places = text.format(number + ".astype(int)")
            if self.random() < 0.5:
                amount = self.choice(["1", "1.0", "scores", "-scores", "2 * scores - 1"])
                start = self.choice(["np.zeros(3)", "np.zeros(3, dtype=int)"])
                return f"    h = {start}\n    np.add.at(h, {places}, {amount})\n", "np.array(h)"
            return "", f"np.bincount({places}, minlength=3)"
        start = self.choice(["np.zeros(3)", "[0] * 3", "[0.0] * 3", "np.zeros(3, dtype=int)",
                             "{k: 0 for k in range(3)}", "{0: 0.0, 1: 0.0, 2: 0.0}"])  # fmt: skip
        lines = f"    h = {start}\n    for {self.choice(BESIDE)}:\n"
        if self.random() < 0.3:
            lines += f"        s = {self.of_score(1)}\n        w = min(int(s), 2)\n"
        for _ in range(self.choice([1, 1, 2])):
            place = self.choice(["int(s * 3)", "min(int(s * 3), 2)", "int(s > 0.4)", "round(s)",
                                 "math.floor(s / 0.5)", "max(min(int(s / 0.1), 2), 0)", "1", "w",
                                 "int(s * w)", "min(max(i, 0), 2)"])  # fmt: skip
            amount = self.choice(["1", "1", "1.0", "s", "w", "2", "-1", self.of_score(1)])
            test = self.choice(["", "", "        if s > 0.2:\n    "])
            lines += f"{test}        h[{place}] += {amount}\n"
        return lines, "np.array(list(h.values()))" if start[0] == "{" else "np.array(h)"

    def statistic(self) -> tuple[str, str]:
        """Return statements and an expression after them."""
        if self.random() < 0.25:
            return self.bins()
        lines, text = "", self.of_scores()
        if self.random() < 0.2:
            start, test = self.choice(["0", "0.0", "np.float64(0)"]), self.choice(["", "0.2 < "])
            lines = f"    t = {start}\n    for {self.choice(BESIDE)}:\n        if {test}s < 0.7:\n"
            named = self.choice(["", f"        s = {self.of_score(1)}\n"])
            head, loop, condition = lines.partition(":\n")
            lines = head + loop + named + condition
            lines, text = lines + f"            t += {self.of_score()}\n", "t"
        for _ in range(self.randrange(3)):
            c = self.choice([1, 2, 0.5, 3])
            form = self.choice([
                "float({})", "int({})", "({}) * {c}", "({}) + {c}", "np.maximum({}, {c})",
                "abs({})", "-({})", "max({}, {c})", "np.clip({}, 0, {c})",
            ])  # fmt: skip
            text = form.format(text, c=c)
        return lines, text

    def program(self, number: int) -> str:
        """Return the source of a noisy function, and of the same without noise."""
        lines, text = self.statistic()
        if self.random() < 0.2:
            lines, text = (by_places(each) for each in (lines, text))
        of_bins = text.endswith(("np.array(h)", "np.array(list(h.values()))", "minlength=3)"))
        size = ", size=3" if of_bins else ""
        geometric = f"rng.geometric({RARE}{size}) - rng.geometric({RARE}{size})"
        noise = geometric if number % 3 == 0 else f"rng.laplace(0, {SCALE}{size})"
        return (
            "import math\n\nimport numpy as np\n\n\n"
            f"def noisy(scores, *, rng):\n{lines}    x = {text}\n    return x + {noise}\n\n\n"
            f"def exact(scores):\n{lines}    return {text}\n"
        )


def by_places(text: str) -> str:
    """Return statements in which each score is an entry at a place."""
    changed = re.sub(r"\bs\b", "scores[i]", text)
    return changed.replace("scores[i] in scores", "i in range(len(scores))")


def value_of(exact, scores) -> Any:
    """Return what a function gives, or the error or warning that it ends with."""
    with warnings.catch_warnings(action="error"):
        try:
            return exact(np.array(scores))
        except (ArithmeticError, LookupError, NameError, TypeError, ValueError, Warning) as error:
            return error


def check(proof, exact, number: int) -> None:
    """Check a proof against every input."""
    whole = number % 3 == 0
    found = {each: value_of(exact, each) for each in INPUTS}
    if all(isinstance(each, Exception) for each in found.values()):
        return  # an error on every input tells nothing
    shifted = [each + (1 if whole else 0.5) for each in found.values()]
    assert (
        len({(type(each), getattr(each, "dtype", None), np.shape(each)) for each in shifted}) == 1
    )
    moved = max(
        np.abs(
            np.subtract(found[each], found[(*each[:place], value, *each[place + 1 :])], dtype=float)
        ).sum()
        for each in INPUTS
        for place in range(N)
        for value in VALUES
    )
    rate = -math.log(1 - RARE) if whole else 1 / SCALE
    assert moved * rate <= proof.total * (1 + 1e-9) + 1e-12


def share_that_is_proved(seed: int, programs: int, folder) -> float:
    """Return how many of these programs are proved, after each is checked."""
    writer, proved = Expressions(seed), 0
    for number in range(programs):
        path = folder / f"expression_{number}.py"
        path.write_text(writer.program(number))
        proof = dp.prove(load(f"{path}:noisy"), dp.PureDP(1e6), n=N)
        if proof.proved:
            check(proof, load(f"{path}:exact"), number)
            proved += 1
    return proved / programs


def test_what_is_proved_of_expressions_of_each_score_is_no_less_than_what_one_moves(
    tmp_path,
) -> None:
    assert share_that_is_proved(0, PROGRAMS, tmp_path) > 0.1


@pytest.mark.study
def test_no_expression_moves_further_than_is_proved_in_a_study(tmp_path) -> None:
    assert share_that_is_proved(1, STUDIED, tmp_path) > 0.1
