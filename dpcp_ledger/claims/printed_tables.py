"""Rows for what P-COQS's published tables show, tested against their own computation."""

from __future__ import annotations

from functools import partial

from dpcp_audit.extensions.claims import Computed, Row, Standing, Verdict, claims_of
from dpcp_ledger.claims.computed_rows import ComputedCase, computed_rows
from dpcp_ledger.claims.headings import Heading
from dpcp_ledger.computations import published_tables
from dpcp_ledger.computations.published_tables import ALPHA, N_CALIBRATION, TRIALS
from dpcp_ledger.reproduce.simulation import ModelKind

_claim = claims_of("P-COQS", subject=Heading.PRINTED_TABLES, standing=Standing.ERRATUM)


def rows() -> list[Row]:
    """Return the rows on the tables; no model is private, so nothing beyond the install is used."""
    erratum, practice = Standing.ERRATUM, Standing.PRACTICE
    cases = (
        ComputedCase(
            "pcoqs.table-4[budget=stated]",
            "Table 4",
            erratum,
            Verdict.REFUTED,
            "Table 4 runs P-COQS at the budget of Tables 1 and 12, whose data and draws it "
            "shares: its P-COQS numbers are theirs at ε_CP = 1, as ExponQ's are.",
            {"epsilon": 1.0, "budget": "stated"},
            published_tables.budget_of_table_4,
        ),
        ComputedCase(
            "pcoqs.table-10[model=naive-bayes]",
            "Table 10",
            erratum,
            Verdict.REFUTED,
            "Table 10 gives the results of naive Bayes models, Table 4 those of random forests.",
            {"n": N_CALIBRATION, "model": "naive-bayes"},
            published_tables.repeats_of_table_4,
        ),
        ComputedCase(
            "pcoqs.table-14[resolution=varied]",
            "Appendix D, Table 14",
            erratum,
            Verdict.REFUTED,
            "P-COQS's results are the same at Δ = 1e-20 and at Δ = 1e-5: no threshold, rounded "
            "to two decimals, changes.",
            {"n": N_CALIBRATION, "epsilon": 1.0, "resolution": [1e-20, 1e-5]},
            published_tables.resolution_changes,
        ),
        ComputedCase(
            "pcoqs.table-15[unit=ranks]",
            "Appendix E, Table 15",
            erratum,
            Verdict.REFUTED,
            "Table 15 gives rank errors: P-COQS's is 0.0040 ranks.",
            {"n": N_CALIBRATION, "epsilon": 1.0, "unit": "ranks"},
            published_tables.rank_error,
        ),
        ComputedCase(
            "pcoqs.table-15[floor=noise]",
            "Appendix E, Table 15",
            practice,
            Verdict.REFUTED,
            "P-COQS's error of 0.0026 at ε_CP = 10 is that of its noise: without noise the "
            "threshold's error is 0.",
            {"n": N_CALIBRATION, "floor": "noise"},
            published_tables.rounding_floor,
        ),
        ComputedCase(
            "pcoqs.tables[spread=variance]",
            "Captions of Tables 1 to 14",
            erratum,
            Verdict.REFUTED,
            "The number behind a mean is the variance of the metric over the runs.",
            {"n": N_CALIBRATION, "epsilon": 0.1, "spread": "variance"},
            published_tables.spread,
        ),
        ComputedCase(
            "pcoqs.tables[privacy=equal]",
            "Section 5",
            Standing.READING,
            Verdict.REFUTED,
            "At the same ε_CP the compared releases have the same privacy.",
            {"n": N_CALIBRATION, "epsilon": 1.0, "relation": "substitution", "privacy": "equal"},
            published_tables.privacy_gap,
        ),
        ComputedCase(
            "histlap.tables[bias=none]",
            "Tables 1, 5, 7 and 12, HistLap",
            practice,
            Verdict.REFUTED,
            "Setting negative counts to 0 leaves HistLap's coverage where it was.",
            {"n": N_CALIBRATION, "epsilon": 0.1, "bias": "none"},
            published_tables.clipping_bias,
        ),
    )
    return computed_rows(_claim, cases)


def private_rows() -> list[Row]:
    """Return the rows on private models; their checks need diffprivlib."""
    return [
        Row(
            claim=_claim(
                "pcoqs.table-1[under-coverage=privacy]",
                "Table 1",
                Verdict.REFUTED,
                "Table 1's coverage below 1−α is the price of private calibration: without noise, "
                "and with the same rounding, coverage is as it is without rounding.",
                standing=Standing.PRACTICE,
                parameters={
                    "n": N_CALIBRATION,
                    "alpha": ALPHA,
                    "model": str(ModelKind.PRIVATE_FOREST),
                    "under_coverage": "privacy",
                },
            ),
            check=Computed(partial(published_tables.rounding_loss, trials=12)),
        ),
        Row(
            claim=_claim(
                "pcoqs.table-7[model-noise=fresh]",
                "Table 7",
                Verdict.REFUTED,
                "Table 7's spreads are those over the randomness of the whole procedure, the "
                "private model's included.",
                standing=Standing.PRACTICE,
                parameters={
                    "n": N_CALIBRATION,
                    "alpha": ALPHA,
                    "model": str(ModelKind.PRIVATE_NAIVE_BAYES),
                    "model_noise": "fresh",
                },
            ),
            check=Computed(partial(published_tables.model_noise, trials=TRIALS)),
        ),
    ]
