"""Samples of the records: without replacement, or by a draw for each record, as Poisson sampling.

What is ε-DP of a sample is ln(1 + (e^ε - 1)·q)-DP of all records, each of which is in the sample
with probability q, as long as the sample shows in nothing else. Of a Poisson sample the laws of the
outputs on two neighbours are mixtures of the same law without the record, and of those with it; all
three are within ε of each other.

References
----------
Balle, Barthe and Gaboardi 2018, "Privacy amplification by subsampling", Theorems 2 and 9.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.proving.distances import (
    NUMPY,
    Noise,
    Records,
    SampledPlaces,
    Subsample,
    Value,
    is_known,
    tokens,
)
from dpcp_audit.proving.exact_numbers import exact_of, form_of, is_scalar

if TYPE_CHECKING:
    from dpcp_audit.proving.paths import Interpreter


OF_STATISTICS = -3
"""The token of a sample of which statistics are used, and no report of each record is made."""
_BELOW = {"Lt": True, "LtE": True, "Gt": False, "GtE": False}
_WITHOUT = "a sample without replacement: Balle, Barthe and Gaboardi 2018, Theorem 9"
_POISSON = "Poisson sampling: Balle, Barthe and Gaboardi 2018, Theorem 2"


def poisson(reader: Interpreter, name: str, a: Value, b: Value) -> SampledPlaces | None:
    """Return the places at which a uniform draw for each record is below a known chance."""
    for draws, chance, first in ((a, b, True), (b, a, False)):
        if not isinstance(draws, Noise) or draws.law != "uniform" or name not in _BELOW:
            continue
        exact = exact_of(chance) if is_known(chance) and is_scalar(chance) else None
        share = None if exact is None else exact.rational
        each = draws.shape == (reader.n,) and _BELOW[name] is first
        if not each or share is None or not 0 < share < 1 or reader.each_record:
            return None
        reader.use(draws.draw, next(tokens))
        return SampledPlaces(Subsample(next(tokens), share), None, form_of(chance))
    return None


def places(reader: Interpreter, given: dict[str, Value]) -> SampledPlaces | None:
    """Return a choice of some of the n places without replacement; None of any other choice."""
    n, size = reader.n, given.get("size")
    of_all = n is not None and type(given.get("a")) is int and given["a"] == n
    if not of_all or n is None or type(size) is not int or not 1 <= size < n:
        return None
    if given.get("replace", True) is not False or given.get("p") is not None:
        return None
    reader.rules.add(_WITHOUT)
    return SampledPlaces(Subsample(next(tokens), Fraction(size, n)), size)


def sampled(reader: Interpreter, records: Records, given: dict[str, Value]) -> Records:
    """Return a sample of the records without replacement: one record is in it at most once."""
    n = reader.n if records.count is None else records.count
    size = given.get("size")
    some = n is not None and not records.single and not records.chosen
    if not some or n is None or type(size) is not int or not 1 <= size <= n:
        raise reader.refuse("a sample of the records whose size, or theirs, is not public")
    if given.get("replace", True) is not False or given.get("p") is not None:
        raise reader.refuse(
            "one record may be more than once in a sample of the records", "give replace=False"
        )
    reader.rules.add(_WITHOUT)
    sample = Subsample(next(tokens), Fraction(size, n)) if records.sample is None else None
    return replace(_taken(records), count=size, sample=sample, entry_type=NUMPY)


def at(reader: Interpreter, records: Records, taken: SampledPlaces) -> Records:
    """Return the records at the places of a sample of all of them, each at its own place."""
    whole = records.placed and records.count is None and records.sample is None
    if not whole or records.single or records.chosen or reader.n is None:
        raise reader.refuse("records are sampled that are not all, each at its own place")
    if records.listed:
        raise reader.refuse("a list of records is indexed", "make it an array: np.array(...)")
    reader.use((taken.sample.token,), OF_STATISTICS)
    if taken.count is None:
        reader.rules.add(_POISSON)
    found = replace(_taken(records), sample=taken.sample)
    return replace(found, chosen=True) if taken.count is None else replace(found, count=taken.count)


def _taken(records: Records) -> Records:
    return records.within(
        records.low,
        records.high,
        boolean=records.boolean,
        order=next(tokens),
        placed=False,
    )
