"""A proof that holds, and one of which a premise does not."""

from __future__ import annotations

from dpcp_audit.words.results import Premise, Proof, ProofMethod


def proof(*, holds: bool) -> Proof:
    """Return a proof of nothing in particular."""
    compared = Premise(says="as told", left=(0.4, 0.4), right=(0.5, 0.5), holds=holds)
    return Proof(method=ProofMethod.ARGUMENT, argument="One is worst.", premises=(compared,))


PROOF, BROKEN = proof(holds=True), proof(holds=False)
