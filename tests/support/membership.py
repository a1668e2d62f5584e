"""Membership games of one number, and of the mechanisms, for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.samplers import context, pair

from dpcp_audit.audits.release_membership import MembershipInference

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Sampler
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome


def game(
    sample: Sampler, guarantee: PrivacyGuarantee, *, n_samples: int = 8000
) -> MembershipInference:
    """Return the game of telling 1 (in) from 0 (out)."""
    return MembershipInference(
        sample=sample, guarantee=guarantee, neighbours=pair(1, 0), n_samples=n_samples
    )


def played(check: MembershipInference, *, seed: int = 0, significance: float = 1e-6) -> Outcome:
    return check(context(seed, significance=significance))
