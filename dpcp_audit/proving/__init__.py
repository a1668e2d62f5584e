"""Proofs for every input: a function's source, read over how far two neighbours can be apart.

Read in this order: ``statistics`` and ``distances`` (kinds of values), ``charges`` (the cost of
each use of noise), ``paths`` (the state of a run), ``rules`` (the known functions), ``gaps`` and
``thresholds`` (two mechanisms of their own), ``selections`` and ``clipping`` (loops that choose,
gradients), ``interpreter``, ``expressions`` and ``statements`` (the Python language), ``objects``
(classes), ``prover`` (the claim and the result). One path at a time is read by ``local_reader``,
for the law of one report (``drawn_values``, ``local_laws``), and by ``coverage``, for thresholds at
a public or drawn rank; ``determined`` reads functions of public values. Nothing here runs the
function, draws a sample or follows a trace.
"""
