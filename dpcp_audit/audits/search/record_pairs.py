"""Neighbours of randomizers (two values), of calibrators (records), of rows, and of clients."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.pair_space import Candidate, PairSpace, RecordOrder, neighbours_of
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.randomized_response import hidden_laws
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.audits.search.pair_space import Draw, Sampler, ScorePair
    from dpcp_audit.laws.pools import RowPool
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_MOST_PAIRS = 300
_MIXED = frozenset({RecordOrder.EARLY, RecordOrder.MIDDLE, RecordOrder.SHUFFLED})
"""The orders in which the other records have both labels by turns."""
_CHANGED = frozenset({RecordOrder.FIRST, RecordOrder.MIDDLE, RecordOrder.FALLING})
"""Those in which the record that moves also changes its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuePairs(PairSpace):
    """Pairs of the values 0, …, K−1 of one user.

    Outputs on a value are shared by all its pairs while the pair is searched, and only the
    chosen pair's are drawn to certify it. ``LocalPrivacy`` draws as many on every value for a
    bound that holds for all pairs at once; on randomised response over ten values the search
    needed 8 times fewer outputs in all.

    Parameters
    ----------
    n_values : int
        K >= 2. All pairs are tried up to 300 of them; beyond, the pairs with 0, with K−1 and
        of consecutive values.
    """

    n_values: int

    def candidates(self) -> list[Candidate]:
        """Return the pairs, each once: an audit looks both ways."""
        k = self.n_values
        pairs = list(combinations(range(k), 2)) if k * (k - 1) // 2 <= _MOST_PAIRS else []
        if not pairs:
            ends = [(0, i) for i in range(1, k)] + [(i, k - 1) for i in range(1, k - 1)]
            pairs = [*ends, *((i, i + 1) for i in range(1, k - 2))]
        return [neighbours_of(Relation.SUBSTITUTION, a, b, family="two values") for a, b in pairs]

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the pair of 0 and 1."""
        if candidate.inputs != (0, 1):
            yield neighbours_of(Relation.SUBSTITUTION, 0, 1, family=candidate.family)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPairs(PairSpace):
    """Pairs of calibration sets, (probabilities, labels), whose scores 1 − p_y are score pairs.

    A record of score s has probability 1 − s for its label, 0 or 1, and s for the other of these.
    Orders of the records take turns, and with them whether the others all have the label 0 or both,
    and whether the record that moves changes its label.

    Parameters
    ----------
    scores : ScorePairs
        The pairs of scores, with bounds (0, 1). Its relation says what differs, unless ``relation``
        is ONE_LABEL.
    relation : Relation or None
        ONE_LABEL: one record keeps its probabilities and changes its label from 0 to 1, so that
        its score goes from s to 1 − s. None takes the relation of ``scores``.
    n_classes : int
        Number of classes, at least 2.
    """

    scores: ScorePairs = field(default_factory=ScorePairs)
    relation: Relation | None = None
    n_classes: int = 2

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of the thresholds."""
        return self.scores.bounds

    def candidates(self) -> list[Candidate]:
        """Return the score pairs' catalogue, as records."""
        return [self._records(candidate) for candidate in self.scores.candidates()]

    def balanced(self, draw: Draw, *, outputs: int) -> Iterator[Candidate]:
        """Yield the balanced score pairs, as records."""

        def draw_scores(scores: object, size: int) -> FloatArray:
            values = np.asarray(scores)
            return draw(self._inputs(values, np.zeros(values.size, dtype=np.int64)), size)

        found = self.scores.balanced(draw_scores, outputs=outputs)
        yield from (self._records(each) for each in found)

    def untied(self, candidate: Candidate) -> Candidate | None:
        """Return the records with distinct scores."""
        found = self.scores.untied(candidate)
        return None if found is None else self._records(found)

    def at_random(self, like: Candidate, rng: np.random.Generator) -> Candidate | None:
        """Return records of random scores."""
        found = self.scores.at_random(like, rng)
        return None if found is None else self._records(found)

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield simpler records."""
        yield from (self._records(simple) for simple in self.scores.simpler(candidate))

    def _records(self, candidate: Candidate) -> Candidate:
        pair = candidate.scores
        assert pair is not None  # noqa: S101  (score pairs have scores; for the type checker)
        value, neighbour = candidate.inputs
        labels, other = _labels(pair)
        relation = self.scores.relation
        if relation is Relation.ADD_REMOVE:
            labels, other = other, np.delete(other, pair.place)
        if self.relation is Relation.ONE_LABEL:
            relation, pair = self.relation, _mirrored(pair)
            other[pair.place] = 1
            first = self._inputs(pair.scores[0], labels)
            second = first[0], other
        else:
            first, second = self._inputs(value, labels), self._inputs(neighbour, other)
        return neighbours_of(relation, first, second, family=candidate.family, scores=pair)

    def _inputs(self, scores: FloatArray, labels: IntArray) -> tuple[FloatArray, IntArray]:
        probabilities = np.zeros((scores.size, self.n_classes))
        rows = np.arange(scores.size)
        probabilities[rows, labels], probabilities[rows, 1 - labels] = 1 - scores, scores
        return probabilities, labels


def _labels(pair: ScorePair) -> tuple[IntArray, IntArray]:
    """Return the labels, 0 or 1, on the two inputs; they take turns with the records' order."""
    labels = np.arange(pair.size) % 2 if pair.order in _MIXED else np.zeros(pair.size, dtype=int)
    labels[pair.place] = 0
    other = labels.copy()
    other[pair.place] = pair.order in _CHANGED
    return labels, other


def _mirrored(pair: ScorePair) -> ScorePair:
    """Return the pair whose score moves from s to 1 − s, s the end that is further from 1/2."""
    far = max(pair.source, pair.target, key=lambda score: abs(score - 0.5))
    return replace(pair, source=far, target=1 - far)


Change = tuple[int, int, int]
"""(a, b, c): a user's value a becomes b, and all others hold c."""
_ALL_OTHERS = 6
"""Values up to which the others are tried on each; beyond, on those that change and a third."""
_MOST = 10
"""Values up to which all pairs are tried; beyond, those with the first."""


def changes(n_values: int) -> list[Change]:
    """Return the changes to try."""
    firsts = range(n_values if n_values <= _MOST else 1)
    pairs = [(a, b) for a in firsts for b in range(a + 1, n_values)]
    return [(a, b, c) for a, b in pairs for c in _others(a, b, n_values)]


def _others(a: int, b: int, n_values: int) -> list[int]:
    if n_values <= _ALL_OTHERS:
        return list(range(n_values))
    return [a, b, next(c for c in range(n_values) if c not in {a, b})]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledReports:
    """Statistics of n users' reports that a random order does not change.

    Of reports in {0, ..., K-1} all of it, their counts; of others the sum, the least and the
    largest of each coordinate, which may show less. Its input is vK + c: one user holds the v-th
    value, and the n - 1 others the c-th.

    Parameters
    ----------
    reporter : Sampler
        A sampler of reports: integers in {0, ..., K-1}, or numbers.
    n : int
        The number of users.
    values : tuple of float
        The K values.
    counted : bool
        True if reports are in {0, ..., K-1}.
    """

    reporter: Sampler
    n: int
    values: tuple[float, ...]
    counted: bool = True

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return counts, shape (size, K), or sums and extremes, shape (size, 3d)."""
        own, others = (self.values[each] for each in divmod(int(value), len(self.values)))
        first = np.asarray(self.reporter(own, size, rng=rng)).reshape(size, 1, -1)
        rest = np.asarray(self.reporter(others, size * (self.n - 1), rng=rng))
        reports = np.concatenate([first, rest.reshape(size, self.n - 1, -1)], axis=1)
        if self.counted:
            counts = [(reports == k).sum(axis=(1, 2)) for k in range(len(self.values))]
            return np.stack(counts, axis=1) * 1.0
        reports.sort(axis=1)  # so that the rounding of the sums does not tell the order
        shown = [reports.sum(axis=1), reports.min(axis=1), reports.max(axis=1)]
        return np.concatenate(shown, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledPairs(PairSpace):
    """Pairs of inputs of ``ShuffledReports``.

    Parameters
    ----------
    n_values : int
        K >= 2.
    """

    n_values: int

    def candidates(self) -> list[Candidate]:
        """Return the pairs, each once: an audit looks both ways."""
        k = self.n_values
        return [
            neighbours_of(
                Relation.SUBSTITUTION, a * k + c, b * k + c, family=f"{a} or {b} among {c}"
            )
            for a, b, c in changes(k)
        ]


_SMALL, _LARGE = 120, 10_000
"""Users up to which counts of four groups of reports are enumerated, of three; beyond, of two."""
_SAME, _ROUNDING = 9, 1e-9
"""Decimals to which two log-ratios are one, and by which two probabilities may differ."""


def shuffled_pairs(
    channel: FloatArray, n: int
) -> Iterator[tuple[tuple[int, int, int], FinitePair]]:
    """Yield (a, b, c) with the laws of the counts where one of n users holds a, or b, the others c.

    Reports are merged into those that speak most for a, most for b, and the rest, of which those
    that are likeliest on c are apart where n is small. What is merged can only hide: the loss is
    exact where reports of a group are alike, as of k-ary response of few users, and a lower
    bound elsewhere (``nothing_merged``). A report that the others never give is not hidden among
    theirs: the laws are those of whether there is one.

    Parameters
    ----------
    channel : ndarray, shape (K, m)
        The probability of each report on each value.
    n : int
        The number of users.
    """
    for a, b, c in changes(len(channel)):
        groups = _groups(channel[a], channel[b], channel[c], n)
        merged = np.stack([channel[:, group].sum(axis=1) for group in groups], axis=1)
        merged /= merged.sum(axis=1, keepdims=True)
        if (merged[c] > 0).all():
            yield (a, b, c), FinitePair(*hidden_laws(n, merged[c], [merged[a], merged[b]]))
        else:
            yield (a, b, c), FinitePair(*(_bare(channel[v], channel[c] == 0) for v in (a, b)))


def nothing_merged(channel: FloatArray, n: int) -> bool:
    """Return True if all reports of every group are alike, so that the laws are exact.

    Examples
    --------
    >>> nothing_merged(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]), 50)
    True
    >>> nothing_merged(np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]), 50_000)
    False
    """
    return all(
        _alike(channel[[a, b, c]][:, group])
        for a, b, c in changes(len(channel))
        for group in _groups(channel[a], channel[b], channel[c], n)
    )


def _alike(columns: FloatArray) -> bool:
    """Return True if columns are proportional, to rounding, and reports can come from others."""
    shares = columns / columns.sum(axis=0)
    return bool(columns[2].all() and np.ptp(shares, axis=1).max() < _ROUNDING)


def _bare(law: FloatArray, never: BoolArray) -> FiniteLaw:
    """Return the law of whether a user's report is one that the others never give."""
    shown = float(np.clip(law[never].sum(), 0.0, 1.0))
    with np.errstate(divide="ignore"):
        return FiniteLaw(np.log([shown, 1 - shown]), np.zeros(2))


def _groups(law: FloatArray, other: FloatArray, crowd: FloatArray, n: int) -> list[BoolArray]:
    """Return the reports for the first law, for the other one, for the crowd's, and for none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.round(np.log(law / other), _SAME)
    ratio = np.nan_to_num(ratio, nan=0.0)
    first, last = ratio == ratio.max(), ratio == ratio.min()
    if n > _LARGE:
        return [group for group in (first, ~first) if group.any()]
    rest = ~(first | last)
    likely = rest & (crowd >= np.max(crowd[rest], initial=0.0) * (1 - _ROUNDING))
    split = [likely, rest & ~likely] if n <= _SMALL else [rest]
    return [group for group in (first, last & ~first, *split) if group.any()]


_SHARES = (0.0, 1.0, 0.5, 0.25, 0.75, 1 / 3, 0.1, 0.9, 0.01, 0.99)
"""The values that are tried, as shares of the way from the lower bound to the upper one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPairs(PairSpace):
    """Pairs of one user's values between two bounds, on a grid.

    Parameters
    ----------
    limits : tuple of float
        The least and the largest value.

    Examples
    --------
    >>> NumberPairs(limits=(-1.0, 1.0)).candidates()[0].inputs
    (-1.0, 1.0)
    """

    limits: tuple[float, float]

    def candidates(self) -> list[Candidate]:
        """Return the pairs of the grid, each once, those that lie furthest apart first."""
        low, high = self.limits
        values = [low + (high - low) * share for share in _SHARES]
        pairs = sorted(combinations(values, 2), key=lambda pair: -abs(pair[1] - pair[0]))
        return [neighbours_of(Relation.SUBSTITUTION, *pair, family="two values") for pair in pairs]

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the pair of the bounds, then rounder values."""
        for places in (0, 1, 2):
            values = [round(float(each), places) for each in candidate.inputs]
            inside = all(self.limits[0] <= each <= self.limits[1] for each in values)
            if inside and values[0] != values[1] and tuple(values) != candidate.inputs:
                yield neighbours_of(Relation.SUBSTITUTION, *values, family=candidate.family)


SIZES = (30, 5, 2, 100)
_NEW_ROWS = 7
_LEVELS = (0.1, 0.05)
"""Miscoverage levels that libraries take where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowPairs(PairSpace):
    """Pairs of data sets that differ in one row.

    The others are as many of each of two labels of one row as leave the conformal rank between
    them, or are spread over the pool, or all alike, or all of one class; the row that differs
    is at an end of the features, moves to the other end, changes its label, or both.

    Parameters
    ----------
    pool : RowPool
    sizes : tuple of int
        The numbers of rows to try.
    relation : Relation
        SUBSTITUTION, ADD_REMOVE or ONE_LABEL.
    whole : bool
        True if labels are classes.
    alpha : float or None
        The miscoverage level that the target aims at; None tries usual ones.
    """

    pool: RowPool
    sizes: tuple[int, ...] = SIZES
    relation: Relation = Relation.SUBSTITUTION
    whole: bool = True
    alpha: float | None = None

    def candidates(self) -> list[Candidate]:
        """Return the pairs, all families at the first size in front."""
        least = 2 if self.relation is Relation.ADD_REMOVE else 1
        return [
            each
            for n in self.sizes
            if n >= least
            for each in (
                *self._at_rank(n),
                *(
                    self._pair(family, rows, rows, moved)
                    for family, rows in self._others(n - 1)
                    for moved in self._moves()
                ),
            )
        ]

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the pairs of fewer rows."""
        size = len(candidate.inputs[0][1])
        yield from (each for each in self.candidates() if len(each.inputs[0][1]) < size)

    def _at_rank(self, n: int) -> Iterator[Candidate]:
        """Yield pairs whose one row moves the conformal rank from one label's score to another's.

        Which of the two labels has the lower score, the target knows: both orders are tried.
        """
        middle = len(self.pool.labels) // 2
        differs = np.flatnonzero(self.pool.labels != self.pool.labels[middle])
        if not differs.size:
            return
        other = int(differs[-1])
        for level in _LEVELS if self.alpha is None else (self.alpha,):
            rank = ceil((1 - level) * (n + 1))
            for low, high in ((middle, other), (other, middle)):
                if rank <= n:
                    labels = np.repeat([low, high], [rank - 1, n - rank])
                    rows, moved = np.full(n - 1, middle), ((middle, high), (middle, low))
                    yield self._pair("others at the conformal rank", rows, labels, moved)

    def _others(self, n: int) -> Iterator[tuple[str, IntArray]]:
        """Yield n rows of the pool that both data sets have."""
        m = len(self.pool.labels)
        yield "others spread", np.linspace(0, m - 1, n).round().astype(np.int64)
        if n:
            yield "others all alike", np.full(n, m // 2)
            yield "others of the first labels", np.arange(n) % max(1, m // 3)

    def _moves(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield the changes: the places in the pool of its features and label, on either side."""
        first, last = self._ends()
        middle = len(self.pool.labels) // 2
        if self.relation is not Relation.ONE_LABEL:
            yield (first, 0), (last, -1)
            yield (last, 0), (first, -1)
        yield (first, 0), (first, -1)
        yield (last, 0), (last, -1)
        yield (middle, 0), (middle, -1)
        if self.relation is not Relation.ONE_LABEL:
            yield (first, middle), (last, middle)

    def _ends(self) -> tuple[int, int]:
        total = self.pool.features.sum(axis=1)
        return int(total.argmin()), int(total.argmax())

    def _pair(
        self,
        family: str,
        rows: IntArray,
        of_labels: IntArray,
        moved: tuple[tuple[int, int], tuple[int, int]],
    ) -> Candidate:
        value, neighbour = (self._data(rows, of_labels, *each) for each in moved)
        if self.relation is Relation.ADD_REMOVE:
            features, labels, new = value
            neighbour = features[:-1], labels[:-1], new
        return neighbours_of(self.relation, value, neighbour, family=family)

    def _data(
        self, rows: IntArray, of_labels: IntArray, features: int, label: int
    ) -> tuple[FloatArray, np.ndarray, FloatArray]:
        table = self.pool.features[[*rows, features]]
        labels = self.pool.labels[[*of_labels, label]]
        return table, labels.astype(np.int64) if self.whole else labels, self._new()

    def _new(self) -> FloatArray:
        """Return the rows that predictions are asked of: the ends, the middle, and others.

        At the middle a label is in the set just if the threshold is its score or more.
        """
        m = len(self.pool.labels)
        spread = np.linspace(0, m - 1, min(m, _NEW_ROWS - 3)).round().astype(np.int64)
        return self.pool.features[[*self._ends(), m // 2, *spread]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPairs(PairSpace):
    """Pairs of lists of clients' scores, made of pairs of score arrays that are cut in parts.

    Parameters
    ----------
    scores : ScorePairs
        The scores of all clients together; its relation is that of the records, or of the clients.
    clients : int
        Number of clients, at least 1.
    of_clients : bool
        True if the neighbour differs in all scores of a client, in place of one of them.
    """

    scores: ScorePairs = field(default_factory=ScorePairs)
    clients: int = 5
    of_clients: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of the scores."""
        return self.scores.bounds

    def candidates(self) -> list[Candidate]:
        """Return the pairs whose scores suffice for a record of every client."""
        found = (self._cut(each) for each in self.scores.candidates())
        return [each for each in found if each is not None]

    def at_random(self, like: Candidate, rng: np.random.Generator) -> Candidate | None:
        """Return lists of random scores."""
        found = self.scores.at_random(like, rng)
        return None if found is None else self._cut(found)

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield simpler lists."""
        found = (self._cut(each) for each in self.scores.simpler(candidate))
        yield from (each for each in found if each is not None)

    def _cut(self, candidate: Candidate) -> Candidate | None:
        pair = candidate.scores
        if pair is None or pair.size < self.clients:
            return None
        value, other = pair.scores
        first, second = self._parts(value), self._parts(other)
        place = next(k for k, part in enumerate(second) if not np.array_equal(part, first[k]))
        relation = self.scores.relation
        if self.of_clients:
            low, high = self.bounds
            far = high if first[place].mean() < (low + high) / 2 else low
            second = list(first)
            second[place] = np.full_like(first[place], far)
            if relation is Relation.ADD_REMOVE:
                del second[place]
        elif relation is Relation.ADD_REMOVE:
            index = pair.place - sum(len(part) for part in first[:place])
            second = list(first)
            second[place] = np.delete(first[place], index)
        if not second or min(map(len, second)) == 0:
            return None
        family = candidate.family
        return neighbours_of(relation, tuple(first), tuple(second), family=family, scores=pair)

    def _parts(self, scores: FloatArray) -> list[FloatArray]:
        return list(np.array_split(scores, self.clients))
