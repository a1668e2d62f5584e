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
from dpcp_audit.proving.charges import EXPONENTIAL, Charge
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
    is_public,
    is_whole,
    multiple_of,
    shape_of,
    size_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    ExponentialQuotient,
    Surd,
    exact_of,
    form_of,
    is_scalar,
    plain,
    rational_of,
)
from dpcp_audit.stats.enclosures import ball, upper
from dpcp_audit.words.results import Drawing

if TYPE_CHECKING:
    from dpcp_audit.proving.distances import Leak
    from dpcp_audit.proving.reading import Interpreter

_SIGNATURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "normal": ("normal", ("loc", "scale", "size")),
    "standard_normal": ("normal", ("size",)),
    "laplace": ("laplace", ("loc", "scale", "size")),
    "gumbel": ("gumbel", ("loc", "scale", "size")),
    "exponential": ("exponential", ("scale", "size")),
    "standard_exponential": ("exponential", ("size",)),
    "geometric": ("geometric", ("p", "size")),
}
_PYTHON = {"gauss", "normalvariate"}
_PUBLIC_DRAWS = {
    "random": ("size",),
    "random_sample": ("size",),
    "uniform": ("low", "high", "size"),
    "integers": ("low", "high", "size"),
    "randint": ("low", "high", "size"),
    "binomial": ("n", "p", "size"),
    "poisson": ("lam", "size"),
    "logistic": ("loc", "scale", "size"),
}
"""Draws that are released at once: they may decide, but hide nothing."""
_WHOLE_DRAWS = {"integers", "randint", "binomial", "poisson"}


def draw(reader: Interpreter, generator: Generator, name: str, args: list[Value], kw: Any) -> Value:
    """Return the draw of a generator's method."""
    if reader.each_record:
        raise reader.refuse("noise of its own for each record is not followed")
    if generator.name == "random" and name not in _PUBLIC_DRAWS:
        return _python_draw(reader, name, args, kw)
    if name in _SIGNATURES:
        law, names = _SIGNATURES[name]
        return _noise(reader, law, _bound(reader, names, args, kw))
    if name == "choice":
        return _choice(reader, _bound(reader, ("a", "size", "replace", "p"), args, kw))
    if name in {"rand", "randn"}:
        return _rand(reader, name, args)
    if name in {"random", "random_sample", "uniform"}:
        return _uniform(reader, name, args, kw)
    if name in {"integers", "randint"} and _is_seed(_bound(reader, _PUBLIC_DRAWS[name], args, kw)):
        return Noise((next(tokens),), SEED, Surd.of(1), (), reader.line)
    if name in _PUBLIC_DRAWS or name == "permutation":
        return _public(reader, name, args, kw)
    if name in {"seed", "set_state", "shuffle"}:
        raise reader.refuse(f"{name} of a generator: noise that follows may be known")
    raise reader.refuse(f"{name} of a generator is not followed")


def variates(
    reader: Interpreter, owner: Distribution, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the draw of ``rvs`` of a law of scipy.stats."""
    names = ("size", "random_state") if owner.frozen else ("loc", "scale", "size", "random_state")
    given = _bound(reader, names, args, kw)
    if not isinstance(given.pop("random_state", None), Generator):
        raise reader.leak(
            "a generator of the program's own: whoever knows its seed knows the noise",
            "let the function take rng, and give random_state=rng",
        )
    return _noise(reader, owner.law, {"loc": owner.loc, "scale": owner.scale} | given)


def refuse_seeds(reader: Interpreter) -> None:
    """Refuse a draw of a global generator where the file seeds one."""
    if any(each.source.seeds() for each in reader.path.frames.values()):
        raise reader.refuse(
            "a generator that the file seeds: whoever knows the seed knows the noise",
            "draw from the rng that is handed in",
        )


def own_generator(reader: Interpreter) -> Leak:
    """Return the refusal of noise from a generator whose seed may be known."""
    return reader.leak(
        "a generator of the program's own: whoever knows its seed knows the noise",
        "draw from the rng that is handed in",
    )


def fresh_generator(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Generator:
    """Return a generator that is made without a seed: of the system's entropy, unknown to all."""
    if args or kw:
        raise own_generator(reader)
    if reader.each_record:
        raise reader.refuse("a generator is made for each record")
    reader.doubt("a generator is made")
    return Generator("of the system's entropy")


def _bound(
    reader: Interpreter, names: tuple[str, ...], args: list[Value], kw: Any
) -> dict[str, Value]:
    if len(args) > len(names) or not set(kw) <= set(names) - set(names[: len(args)]):
        raise reader.refuse("a draw with arguments that are not known")
    return {**dict(zip(names, args, strict=False)), **kw}


def _rand(reader: Interpreter, name: str, args: list[Value]) -> Value:
    size = {"size": tuple(args)} if args else {}
    if name == "rand":
        return PublicFloat(_size(reader, tuple(args)) if args else ())
    return _noise(reader, "normal", size)


def _uniform(reader: Interpreter, name: str, args: list[Value], kw: Any) -> Value:
    """Return a uniform draw: on [0, 1) one that nobody has seen yet."""
    given = _bound(reader, _PUBLIC_DRAWS[name], args, kw)
    ends = [given.get("low", 0.0), given.get("high", 1.0)]
    if any(isinstance(each, gaps.KINDS) for each in ends) and "size" not in given:
        return gaps.uniform(reader, ends[0], ends[1])
    unit = all(is_known(each) and is_scalar(each) for each in ends) and ends == [0, 1]
    if unit and _is_number_of_records(given.get("size")):
        return RecordDraws((next(tokens),))
    shape = () if given.get("size") is None else _size(reader, given["size"])
    if not unit or shape is None:
        found = _public(reader, name, args, kw)
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


def _public(reader: Interpreter, name: str, args: list[Value], kw: Any) -> Value:
    if name == "permutation" and len(args) == 1 and isinstance(args[0], Records):
        made = {"order": next(tokens), "placed": False, "entry_type": NUMPY}
        return args[0].within(args[0].low, args[0].high, **made)
    for each in (*args, *kw.values()):
        reader.public(each, "the law of a draw")
    if name == "permutation":
        return UNKNOWN
    given = _bound(reader, _PUBLIC_DRAWS[name], args, kw)
    size = given.pop("size", None)
    shape = () if size is None else _size(reader, size)
    if size is None and any(shape_of(each) != () for each in given.values()):
        return UNKNOWN
    if name in _WHOLE_DRAWS:
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
    if name not in _PYTHON:
        raise reader.refuse(f"random.{name} is not followed")
    given = _bound(reader, ("mu", "sigma"), args, kw)
    if any(shape_of(each) != () for each in given.values()):
        raise reader.refuse("one draw of Python's for all entries of an array", "use NumPy's")
    return _noise(reader, "normal", {"loc": given.get("mu", 0.0), "scale": given.get("sigma", 1.0)})


def _noise(reader: Interpreter, law: str, given: dict[str, Value]) -> Value:
    """Return a draw, on its location."""
    if reader.each_record:
        raise reader.refuse("noise of its own for each record is not followed")
    size, loc = given.get("size"), given.get("loc", 0)
    scale = given.get("p" if law == "geometric" else "scale", 1)
    scale = reader.public(scale, "a scale of noise", FIXED)
    shape = None if size is None else _size(reader, size)
    if size is not None and shape is None:
        reader.public(loc, "the location of noise of unknown size")
        return UNKNOWN
    parameter, array = _scale(reader, scale)
    if parameter is None or parameter.sign <= 0:
        shown = "a scale that is not known" if parameter is None else f"scale {scale}"
        reader.public(loc, f"the location of {law} noise of {shown}")
        return Public(shape) if size is not None else UNKNOWN
    if law == "gumbel" and is_known(scale) and array and np.ptp(plain(scale)):
        raise reader.refuse("gumbel noise of unequal scales is no exponential mechanism")
    if shape is None:
        shape = _shape_without_size(reader, loc, array)
    if law == "geometric":
        parameter = Surd.of(_log_rate(reader, scale))
    noise = Noise((next(tokens),), law, parameter, shape, reader.line, alike=not array)
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


def _shape_without_size(reader: Interpreter, loc: Value, array: Shape) -> Shape:
    """Return the shape of draws without a size: that of their location and scale together."""
    place = shape_of(loc)
    if isinstance(loc, Private | Records | Weights) or place is None:
        raise reader.refuse(f"noise is drawn around {kind(loc)}")
    try:
        return tuple(np.broadcast_shapes(place, array))
    except ValueError:
        raise reader.refuse("location and scale of noise differ in shape") from None


def _scale(reader: Interpreter, scale: Value) -> tuple[Surd | None, Shape]:
    """Return the smallest scale and the shape of the scales; None where it is not known."""
    if is_scalar(scale):
        return exact_of(scale), ()
    if isinstance(scale, np.ndarray) and scale.size:
        exacts = [exact_of(each) for each in scale.ravel().tolist()]
        known = [each for each in exacts if each is not None]
        smallest = min(known, key=lambda each: each.sign * each.square, default=None)
        return (smallest if len(known) == len(exacts) else None), scale.shape
    if is_public(scale):
        multiple = multiple_of(scale)
        return None if multiple is None else multiple.factor, shape_of(scale) or ()
    raise reader.refuse("the scale of noise is not followed")


def _choice(reader: Interpreter, given: dict[str, Value]) -> Value:
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
    rule = _MECHANISMS[noise.law.removeprefix(ROUNDED)]
    charge = Charge(law, cost, value.line, rule, part, factor, float(scale), x.where, x.sample)
    return replace(charge, cell=x.cell)


_MECHANISMS = {
    "normal": "Gaussian noise: Bun and Steinke 2016, Proposition 1.6",
    DISCRETE: "discrete Gaussian noise: Canonne, Kamath and Steinke 2020, Theorem 4",
    "laplace": "Laplace noise: Dwork, McSherry, Nissim and Smith 2006, Proposition 1",
    "two-sided geometric": "geometric noise: Ghosh, Roughgarden and Sundararajan 2012",
}
"""The source of each law of noise on a statistic."""


_FARTHEST = 2**60
"""Size, in scales, of a draw and of all known numbers that may have been added to it."""


def released(value: Noisy) -> Public:
    """Return the public form of a released noisy value, with its size where that is known."""
    found, noise, size = value.noise.released, value.noise, value.statistic.size
    alone = noise.alike and len(noise.draw) == 1  # else the smallest scale is known
    alone = alone and not (
        noise.shape and noise.moved
    )  # by an array with infinite entries, perhaps
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
    if noise.law not in _MAXIMA:
        reader.release(value)
        return WHOLE
    if reader.path.was_released(noise.draw, value.token):
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


_STEEPEST = 500
"""Size of an exponent beyond which exponentials, or their sum, may be infinite as doubles."""


def exponentials(reader: Interpreter, x: Statistic) -> Weights:
    """Return ``np.exp`` of a statistic, unless some of it may be infinite."""
    if not x.topped and (x.size is None or x.size > _STEEPEST):
        raise reader.refuse(
            "the exponential of numbers that may be so large that it is infinite",
            "subtract the largest before: np.exp(u - u.max())",
        )
    return softened(reader, x)


def softened(reader: Interpreter, x: Statistic) -> Weights:
    """Return the exponential of a statistic, up to a common factor."""
    require_fine(reader, x, COARSE)
    line = x.scaled or reader.line
    return Weights(
        x.shape, x.span, next(tokens), topped=x.topped, line=line, cell=x.cell, where=x.where
    )
