"""Proofs for every input: a function's source, read over how far two neighbours can be apart.

``docs/maintaining/proofs.md`` says in which order the files are read, and which of them a proof
rests on. Nothing here runs the function, draws a sample or follows a trace.
"""
