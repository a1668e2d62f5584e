"""The subjects of claims: a mechanism, and the respect in which it is tested."""

from __future__ import annotations

from enum import StrEnum

REAL_NOISE = "noise drawn from its stated law on the real numbers; not of floating-point draws"
"""What proofs of mechanisms with continuous noise take for granted."""


class Heading(StrEnum):
    """What several modules' claims stand under; one module's own heading stands there."""

    SCORE_ALGORITHM = "LDP-CP-S, Algorithm 3"
    SCORE_COVERAGE = "LDP-CP-S, coverage"
    LABEL_COVERAGE = "LDP-CP-L, coverage"
    ONE_REPORT = "LDP-CP, privacy of one report"
    SHUFFLED = "LDP-CP, shuffled reports"
    SEARCH_PRIVACY = "P-COQS, privacy"
    SEARCH_RANK = "P-COQS, rank error"
    SEARCH_COVERAGE = "P-COQS, coverage"
    PRINTED_TABLES = "P-COQS, the printed tables"
    EXPONQ_PRIVACY = "ExponQ, privacy"
    EXPONQ_COVERAGE = "ExponQ, coverage"
    HISTLAP_PRIVACY = "HistLap, privacy"
    HISTLAP_COVERAGE = "HistLap, coverage"
    SPLIT_COVERAGE = "Split conformal prediction, coverage"
    PLANTED_BUGS = "Private training with planted bugs"
    TRAINED_MODELS = "Trained models, membership inference"
    WITHOUT_NOISE = "Training without noise, the attacks' positive control"
    TRAINING_PIPELINE = "A private classifier under P-COQS"
