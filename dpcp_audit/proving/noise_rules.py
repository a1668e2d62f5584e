"""Draws: the laws of a generator's methods, and what using a noisy value costs.

References
----------
Laplace noise: Dwork, McSherry, Nissim and Smith 2006. Gaussian noise: Bun and Steinke 2016,
Proposition 1.6. Geometric noise: Ghosh, Roughgarden and Sundararajan 2012. Exponential mechanism:
McSherry and Talwar 2007; its loss has a range: Dong, Durfee and Rogers 2020. Noisy maximum: Dwork
and Roth 2014, Claim 3.9, and with exponential noise Ding, Kifer and others 2021, for monotone
scores; a common shift of all scores changes no maximum, and shifted by its least entry every
difference is monotone with its span as sensitivity.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import ctx

from dpcp_audit.proving import dp_sgd, gaps
from dpcp_audit.proving.arithmetic import COARSE, FIXED, binary, kind, noisy, require_fine
from dpcp_audit.proving.charges import EXPONENTIAL, GEOMETRIC, Charge
from dpcp_audit.proving.distances import (
    DISCRETE,
    FARTHEST_DRAW,
    MOST_RECORDS,
    NUMPY,
    ROUNDED,
    SEED,
    UNKNOWN,
    WHOLE,
    Distribution,
    Generator,
    Inverse,
    Noise,
    Noisy,
    Private,
    Public,
    PublicFloat,
    RecordDraws,
    Records,
    Shape,
    Statistic,
    Value,
    Weights,
    is_known,
    is_whole,
    multiple_of,
    shape_of,
    size_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    ExponentialQuotient,
    Surd,
    form_of,
    is_scalar,
    rational_of,
)
from dpcp_audit.proving.list_weights import STEEP, STEEPEST
from dpcp_audit.stats.enclosures import ball, upper
from dpcp_audit.words.results import Drawing

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.distances import Leak
    from dpcp_audit.proving.reading import Interpreter

_PLACED = ("loc", "scale", "size")
_DRAWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "normal": ("normal", _PLACED),
    "standard_normal": ("normal", ("size",)),
    "laplace": ("laplace", _PLACED),
    "gumbel": ("gumbel", _PLACED),
    "exponential": ("exponential", ("scale", "size")),
    "standard_exponential": ("exponential", ("size",)),
    "geometric": ("geometric", ("p", "size")),
    "choice": ("choice", ("a", "size", "replace", "p")),
    "random": ("uniform", ("size",)),
    "random_sample": ("uniform", ("size",)),
    "uniform": ("uniform", ("low", "high", "size")),
    "integers": ("whole", ("low", "high", "size")),
    "randint": ("whole", ("low", "high", "size")),
    "binomial": ("whole", ("n", "p", "size")),
    "poisson": ("whole", ("lam", "size")),
    "permutation": ("permutation", ("x",)),
    "logistic": ("logistic", _PLACED),
}
"""The law of each draw, and its parameters; of the last ones draws hide nothing."""
_OF_SIZES = {"rand": "random", "randn": "standard_normal"}
"""Draws of which each argument is the length of an axis."""


def draw(reader: Interpreter, generator: Generator, name: str, args: list[Value], kw: Any) -> Value:
    """Return the draw of a generator's method."""
    reader.require_once("noise of its own for each record is not followed")
    if name in {"seed", "set_state", "shuffle"}:
        raise reader.refuse(f"{name} of a generator: noise that follows may be known")
    if generator.name == "random" and name not in {"random", "uniform"}:
        return _python_draw(reader, name, args, kw)
    if name in _OF_SIZES:
        name, args, kw = _OF_SIZES[name], [], ({"size": tuple(args)} if args else {}) | kw
    if name not in _DRAWS:
        raise reader.refuse(f"{name} of a generator is not followed")
    law, names = _DRAWS[name]
    given = _bound(reader, names, args, kw)
    if law == "whole" and _is_seed(given):
        return Noise((next(tokens),), SEED, Surd.of(1), (), reader.line)
    return _OF_OWN.get(law, _noise)(reader, law, given)


def variates(
    reader: Interpreter, owner: Distribution, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the draw of ``rvs`` of a law of scipy.stats."""
    names = () if owner.frozen else _PARAMETERS[owner.law == _TWO_SIDED]
    given = _bound(reader, (*names, "size", "random_state"), args, kw)
    generator = given.pop("random_state", None)
    if generator is None:
        refuse_seeds(reader)
        reader.doubt("a global generator is drawn from")
    elif not isinstance(generator, Generator):
        raise own_generator(reader, "let the function take rng, and give random_state=rng")
    given = {"loc": owner.loc, "scale": owner.scale} | given
    given["scale"] = given.pop("a", given["scale"])
    if owner.law == _TWO_SIDED and not (is_scalar(given["scale"]) and given["scale"] > _RARE):
        raise reader.refuse("geometric noise of a rate that is not known, or very small")
    return _noise(reader, owner.law, given)


_TWO_SIDED = "two-sided geometric"
_PARAMETERS = (("loc", "scale"), ("a", "loc"))
"""The parameters of laws of scipy.stats; ``dlaplace`` has a rate in place of a scale."""


def frozen_law(
    reader: Interpreter, law: Distribution, args: list[Value], kw: dict[str, Value]
) -> Distribution:
    """Return a law of scipy.stats with its parameters."""
    given = _bound(reader, _PARAMETERS[law.law == _TWO_SIDED], args, kw)
    scale = given.pop("a", given.get("scale", law.scale))
    return replace(law, frozen=True, loc=given.get("loc", law.loc), scale=scale)


def refuse_seeds(reader: Interpreter) -> None:
    """Refuse a draw of a global generator where the file seeds one."""
    if any(each.source.seeds() for each in reader.path.frames.values()):
        raise reader.refuse(
            "the file seeds a generator, or starts one anew: from a known seed the noise follows",
            "draw from the rng that is handed in: it is seeded outside",
        )


def own_generator(reader: Interpreter, hint: str = "draw from the rng that is handed in") -> Leak:
    """Return the refusal of noise from a generator whose seed may be known."""
    seen = "a generator of the program's own: whoever knows its seed knows the noise"
    return reader.leak(seen, hint)


def fresh_generator(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Generator:
    """Return a generator that is made without a seed: of the system's entropy, unknown to all."""
    if args or kw:
        raise own_generator(reader)
    reader.require_once("a generator is made for each record")
    reader.doubt("a generator is made")
    return Generator("of the system's entropy")


def _bound(
    reader: Interpreter, names: tuple[str, ...], args: list[Value], kw: Any
) -> dict[str, Value]:
    if len(args) > len(names) or not set(kw) <= set(names) - set(names[: len(args)]):
        raise reader.refuse("a draw with arguments that are not known")
    return {**dict(zip(names, args, strict=False)), **kw}


def _uniform(reader: Interpreter, law: str, given: dict[str, Value]) -> Value:
    """Return a uniform draw: on [0, 1) one that nobody has seen yet."""
    ends = [given.get("low", 0.0), given.get("high", 1.0)]
    if any(isinstance(each, gaps.KINDS) for each in ends) and "size" not in given:
        return gaps.uniform(reader, ends[0], ends[1])
    unit = all(is_known(each) and is_scalar(each) for each in ends) and ends == [0, 1]
    if unit and _is_number_of_records(given.get("size")):
        return RecordDraws((next(tokens),))
    shape = () if given.get("size") is None else _size(reader, given["size"])
    if shape is not None and all(map(is_known, ends)) and ends == [-0.5, 0.5]:
        draw = (next(tokens),)
        return Inverse(draw, shape, "draw", Surd.of(1), Fraction(-1, 2), reader.line)
    if not unit or shape is None:
        found = _public(reader, law, given)
        sizes = [size_of(each) for each in ends]
        plainly = isinstance(found, PublicFloat) and None not in sizes
        return replace(found, size=max(filter(None, sizes), default=0)) if plainly else found
    return Noise((next(tokens),), "uniform", Surd.of(1), shape, reader.line)


_MOST_SEEDS = 2**60
"""The number of seeds that are drawn from at least; fewer can be tried one by one."""


def _is_seed(given: dict[str, Value]) -> bool:
    """Return True of the draw of one of so many whole numbers that none of them can be guessed."""
    first, second = given.get("low"), given.get("high")
    low, high = (0, first) if second is None else (first, second)
    if not (type(low) is int and type(high) is int and given.get("size") is None):
        return False
    return 0 <= low <= high - _MOST_SEEDS


def _is_number_of_records(size: Value) -> bool:
    """Return True if a size is the number of all records, or a tuple of it, and is not public."""
    one = size[0] if isinstance(size, tuple) and len(size) == 1 else size
    return isinstance(one, Statistic) and one.counts


def _public(reader: Interpreter, law: str, given: dict[str, Value]) -> Value:
    """Return a draw that is released at once: it may decide, but hides nothing."""
    records = given.get("x")
    if isinstance(records, Records):
        made = {"order": next(tokens), "placed": False, "entry_type": NUMPY}
        return records.within(records.low, records.high, **made)
    reader.public(tuple(given.values()), "the law of a draw")
    if law == "permutation":
        return UNKNOWN
    size = given.pop("size", None)
    shape = () if size is None else _size(reader, size)
    if size is None and any(shape_of(each) != () for each in given.values()):
        return UNKNOWN
    if law == "whole":
        return WHOLE if shape == () else Public(shape)
    return Public(None) if shape is None else PublicFloat(shape)


def _size(reader: Interpreter, size: Value) -> Shape | None:
    size = reader.public(size, "the size of a draw")
    if size == ():
        raise reader.refuse("a draw of an array of no dimension", "leave the size out")
    whole = (int, np.integer)
    if isinstance(size, whole) and not isinstance(size, bool):
        return (int(size),)
    if isinstance(size, tuple) and all(isinstance(each, whole) for each in size):
        return tuple(map(int, size))
    if isinstance(size, tuple) and not is_known(size):
        return None
    if isinstance(size, Public):
        return None
    raise reader.refuse("the size of a draw is not a number")


def _python_draw(reader: Interpreter, name: str, args: list[Value], kw: Any) -> Value:
    if name == "expovariate":
        given = _bound(reader, ("lambd",), args, kw)
        if shape_of(given.get("lambd")) != ():
            raise reader.refuse("an exponential draw of Python's without its rate, a number")
        return _noise(reader, "exponential", {"scale": binary(reader, "Div", 1.0, given["lambd"])})
    if name == "choices":
        return _choices(reader, _bound(reader, ("population", "weights", "k"), args, kw))
    given = _bound(reader, ("mu", "sigma"), args, kw)
    if any(shape_of(each) != () for each in given.values()):
        raise reader.refuse("one draw of Python's for all entries of an array", "use NumPy's")
    return _noise(reader, "normal", {"loc": given.get("mu", 0.0), "scale": given.get("sigma", 1.0)})


def _noise(reader: Interpreter, law: str, given: dict[str, Value]) -> Value:
    """Return a draw, on its location."""
    reader.require_once("noise of its own for each record is not followed")
    size, loc = given.get("size"), given.get("loc", 0)
    scale = given.get("p" if law == "geometric" else "scale", 1)
    scale = reader.public(scale, "a scale of noise", FIXED)
    shape = None if size is None else _size(reader, size)
    if size is not None and shape is None:
        reader.public(loc, "the location of noise of unknown size")
        return UNKNOWN
    if isinstance(scale, np.ndarray):
        raise reader.refuse("noise of several scales at once", "draw for each scale")
    multiple = multiple_of(scale)
    parameter = None if multiple is None else multiple.factor
    if parameter is None or parameter.sign <= 0:
        shown = "a scale that is not known" if parameter is None else f"scale {scale}"
        reader.public(loc, f"the location of {law} noise of {shown}")
        return Public(shape) if size is not None else UNKNOWN
    if shape is None:
        shape = shape_of(loc)
        if isinstance(loc, Private | Records | Weights) or shape is None:
            raise reader.refuse(f"noise is drawn around {kind(loc)}")
    if law == "geometric":
        parameter = Surd.of(_log_rate(reader, scale))
    noise = Noise((next(tokens),), law, parameter, shape, reader.line)
    if isinstance(scale, Public):  # a multiple of a power of n
        noise = binary(reader, "Mult", replace(noise, scale=Surd.of(1)), scale)
    _note(reader, noise)
    located = is_known(loc) and is_scalar(loc) and loc == 0
    if isinstance(loc, Statistic) and loc.shape not in {shape, ()}:
        raise reader.refuse(f"noise of the shape {shape} on a statistic of {loc.shape}")
    if isinstance(loc, Statistic):
        return noisy(reader, loc, noise)
    return noise if located else binary(reader, "Add", loc, noise)


def _note(reader: Interpreter, noise: Noise, says: str = "") -> None:
    """Keep a remark on noise that is drawn, or that is on something."""
    scale = noise.scale.times(Surd.of(Fraction(MOST_RECORDS) ** noise.per))
    reader.note("/n" * noise.per + says, drawn=Drawing(noise.law, float(scale)))


def relative(x: Statistic, noise: Noise) -> Surd:
    """Return the scale of noise beside a statistic's distances, of which powers of n cancel."""
    return noise.scale.times(Surd.of(Fraction(MOST_RECORDS) ** min(x.per, noise.per)))


def _choice(reader: Interpreter, law: str, given: dict[str, Value]) -> Value:
    """Return a choice: by a public law, or by the exponential mechanism."""
    if isinstance(given.get("a"), Records):
        return dp_sgd.sampled(reader, given["a"], given)
    taken = dp_sgd.places(reader, given)
    if taken is not None:
        return taken
    p = reader.gathered(given.get("p"))
    if isinstance(p, gaps.Gaps):
        if given.get("size") is not None or not is_known(given.get("replace", True)):
            raise reader.refuse("several gaps are chosen by one law")
        return gaps.choice(reader, reader.public(given["a"], "the candidates of a choice"), p)
    if not isinstance(p, Weights):
        for name, value in given.items():
            reader.public(value, f"{name} of a choice")
        sized = given.get("size")
        if not _numbers(given["a"]):
            return UNKNOWN
        return Public(()) if sized is None else Public(_size(reader, sized))
    if not p.normalised:
        raise reader.refuse("choice by weights that are not divided by their own sum")
    if given.get("size") is not None or not is_known(given.get("replace", True)):
        raise reader.refuse("several choices by one law")
    reader.public(given["a"], "the candidates of a choice")
    line = reader.line
    reader.charge(
        Charge("range", p.span, line, EXPONENTIAL, exponent=p.line, cell=p.cell, where=p.where)
    )
    return _candidate(given["a"])


_OF_OWN: dict[str, Callable[[Interpreter, str, dict[str, Value]], Value]] = {
    "choice": _choice,
    "uniform": _uniform,
    **dict.fromkeys(("whole", "logistic", "permutation"), _public),
}
"""The readers of laws that are not those of noise."""


def _choices(reader: Interpreter, given: dict[str, Value]) -> Value:
    """``random.choices`` of one item: it divides the weights by their sum."""
    candidates = reader.public(given["population"], "the candidates of a choice")
    p = reader.gathered(given.get("weights"))
    plainly = isinstance(p, Weights) and not p.total
    of_gaps = isinstance(p, gaps.Gaps) and not (p.common or p.log)
    if given.get("k", 1) != 1 or not (plainly or of_gaps) or p.normalised:
        raise reader.refuse("random.choices of several items, or not by private weights")
    if shape_of(candidates) == ():
        raise reader.refuse("random.choices from what is no list")
    law = {"a": candidates, "p": replace(p, normalised=True)}
    return reader.listed([_choice(reader, "choice", law)])


def _candidate(candidates: Value) -> Public:
    """Return the unknown value of a choice: a whole number if a number of places was given."""
    if is_whole(candidates):
        return WHOLE
    return Public(()) if _numbers(candidates) else UNKNOWN


def _numbers(candidates: Value) -> bool:
    if isinstance(candidates, np.ndarray):
        return len(shape_of(candidates) or ()) == 1
    return is_scalar(candidates) or (isinstance(candidates, Public) and candidates.shape == ())


def charge_of(reader: Interpreter, value: Noisy) -> Charge:
    """Return the cost of releasing a noisy value."""
    x, noise = value.statistic, value.noise
    scale = relative(x, noise)
    if noise.whole and not x.integer:
        raise reader.refuse("whole-number noise is added to a statistic that is not a whole number")
    if noise.law.removeprefix(ROUNDED) in {"normal", DISCRETE}:
        rate = 1 / below(scale)
        cost = x.l2_squared / scale.square
        law = "concentrated" if noise.law == DISCRETE else "gaussian"
    elif noise.law.removeprefix(ROUNDED) == "laplace":
        rate = 1 / below(scale)
        cost, law = x.l1 * rate, "laplace" if x.shape == () else "pure"
    elif noise.law == "two-sided geometric":
        rate = scale.size_above
        cost, law = x.l1 * rate, "pure"
    else:
        raise reader.refuse(
            f"a value with {noise.law} noise is used: such noise hides only which entry is largest"
        )
    _note(reader, noise, f" on {x.says}")
    part = x.part
    factor = Fraction(0) if part is None else part.factor * rate
    rule, own = _MECHANISMS[noise.law.removeprefix(ROUNDED)], float(scale)
    own = 1 / own if rule == GEOMETRIC else own
    return Charge(law, cost, value.line, rule, part, factor, own, x.where, x.sample, cell=x.cell)


_MECHANISMS = {
    "normal": "Gaussian noise: Bun and Steinke 2016, Proposition 1.6",
    DISCRETE: "discrete Gaussian noise: Canonne, Kamath and Steinke 2020, Theorem 4",
    "laplace": "Laplace noise: Dwork, McSherry, Nissim and Smith 2006, Proposition 1",
    "two-sided geometric": GEOMETRIC,
}
"""The source of each law of noise on a statistic."""


_FARTHEST = 2**60
"""Size, in scales, of a draw and of all known numbers that may have been added to it."""


def released(value: Noisy) -> Public:
    """Return the public form of a released noisy value, with its size where that is known."""
    found, noise, size = value.noise.released, value.noise, value.statistic.size
    entries = noise.shape or len(noise.draw) > 1
    alone = noise.alike and not (entries and noise.moved)  # by infinite entries, perhaps
    if not isinstance(found, PublicFloat) or size is None or not alone:
        return found
    far = _FARTHEST if noise.moved else FARTHEST_DRAW
    return replace(found, size=math.ceil(size + far * noise.scale.size_above))


def below(scale: Surd) -> Fraction:
    """Return a rational at or below a scale."""
    rational = scale.rational
    return abs(rational) if rational is not None else 1 / scale.inverse().size_above


_RARE = 2.0**-40
"""p of a geometric draw below which the draw may be as large as NumPy's whole numbers."""


def _log_rate(reader: Interpreter, p: Value) -> Fraction:
    """Return -log(1 - p), from above: neighbouring whole numbers' chances differ by this factor."""
    if is_scalar(p) and 0 < p < _RARE:
        raise reader.refuse("geometric noise so large that whole numbers wrap around")
    form = form_of(p) if is_scalar(p) and 0 < p < 1 else None
    rest = None if form is None else (ExponentialQuotient.of(1) - form).log
    if rest is not None:
        return -rest
    value = rational_of(p)
    if value is None or not 0 < value < 1:
        raise reader.refuse("the p of geometric noise is not a known number between 0 and 1")
    with ctx.workprec(192):
        return Fraction(upper(-(1 - ball(value)).log()))


def argmax(reader: Interpreter, value: Noisy) -> Value:
    """Charge for which entry of a noisy vector is largest, and return its public place."""
    x, noise = value.statistic, value.noise
    if noise.law not in _MAXIMA or not reader.path.is_fresh(noise.draw):
        reader.release(value)
        return WHOLE
    token = next(tokens)
    reader.use(noise.draw, token)
    cost = x.span / below(relative(x, noise))
    law = "range" if noise.law == "gumbel" else "pure"
    rule, scale = _MAXIMA[noise.law], float(noise.scale)
    charge = Charge(law, cost, value.line, rule, scale=scale, cell=x.cell, where=x.where)
    reader.maxima[token] = value.token, charge
    reader.charge(charge)
    return WHOLE


_MAXIMA = {
    "laplace": "noisy maximum: Dwork and Roth 2014, Claim 3.9",
    "gumbel": EXPONENTIAL,
    "exponential": "noisy maximum, exponential noise: Ding, Kifer and others 2021, Theorem 5",
}
"""The source of the choice of the largest entry, by the law of the noise on each."""


def exponentials(reader: Interpreter, x: Statistic) -> Weights:
    """Return ``np.exp`` of a statistic, unless some of it may be infinite."""
    if not x.topped and (x.size is None or x.size > STEEPEST):
        raise reader.refuse(*STEEP)
    return softened(reader, x)


def softened(reader: Interpreter, x: Statistic) -> Weights:
    """Return the exponential of a statistic, up to a common factor."""
    require_fine(reader, x, COARSE)
    line = x.scaled or reader.line
    return Weights(x.shape, x.span, x.name, topped=x.topped, line=line, cell=x.cell, where=x.where)
