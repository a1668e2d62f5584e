"""``dpcp-audit prove``: prove a promise of privacy or coverage for every input, from the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.faces.cli import target_command

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.faces.cli.arguments import Commands
    from dpcp_audit.proving.proof_result import ProofResult

_DEFAULT_N = 100
_DESCRIPTION = """\
Prove a promise of privacy for every input, by reading the source: line by line, the proof bounds
how far two neighbouring inputs can be apart, and adds up the cost of each noise draw. The function
is not run. A line that leaks, or cannot be followed, stops the proof. A promise of coverage is
proved for every law, of a threshold at a rank that does not depend on the scores, and one of local
privacy for every two values of a user. TARGET, its claims and its options are those of 'dpcp-audit
check'.
"""
_EPILOG = """\
example:
  dpcp-audit prove mine.py:private_quantile --kind quantile --zcdp 0.5 --n 50
  dpcp-audit prove mine.py:unary_encoding --kind randomizer --domain 10 --local-dp 1

exit codes:
  0  proved, or not decided: a proof that stops refutes nothing
  1  with --strict: not proved
  2  usage
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    target_command.add_parser(
        commands,
        "prove",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        claims="CLAIM...",
        execute=execute,
    )


def execute(options: argparse.Namespace) -> int:
    """Load the target, read its source and print the proof for each number of scores."""
    from dpcp_audit.proving.coverage import CoverageSetting, prove_coverage
    from dpcp_audit.proving.prover import prove
    from dpcp_audit.targets import Kind, TargetError
    from dpcp_audit.targets.loading import load
    from dpcp_audit.words.errors import UsageError
    from dpcp_audit.words.options import RUN_OPTIONS

    (spec,) = target_command.config_of(options, "proofs").checks
    privacy, coverage = spec.privacy, spec.coverage
    local = spec.target.kind is Kind.RANDOMIZER
    known = len(privacy) + (coverage is not None) == len(spec.guarantees)
    if not known or not (local or spec.target.kind is Kind.QUANTILE):
        raise UsageError(
            "prove takes --kind quantile, and claims of privacy or of coverage; or --kind "
            "randomizer, and claims of local privacy",
            hint="dpcp-audit check tests all other kinds and claims",
        )
    try:
        function = load(spec.target.target)
    except TargetError as error:
        hint = "" if error.hint else "TARGET is FILE.py:FUNCTION"
        raise UsageError(str(error), hint=hint) from None
    bounds, given = spec.target.bounds, spec.target.options
    proofs: list[ProofResult] = []
    if local:
        proofs.append(prove(function, *privacy, domain=spec.target.domain, options=given))
    for n in () if local else spec.n or (_DEFAULT_N,):
        if privacy:
            proof = prove(
                function, *privacy, n=n, bounds=bounds, neighbours=spec.neighbours, options=given
            )
            proofs.append(proof)
        if coverage is not None:
            setting = CoverageSetting(n=n, bounds=bounds, ties=spec.ties, open_sets=spec.open_sets)
            proofs.append(prove_coverage(function, coverage, setting, given))
    print(*proofs, sep="\n\n")
    strict = target_command.chosen(options, RUN_OPTIONS).get("strict", False)
    return int(strict and not all(each.proved for each in proofs))
