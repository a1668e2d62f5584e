"""The names that other packages build on, as ``dpcp_ledger`` does, beside ``import dpcp_audit``.

====================  ============================================================================
``claims``            guarantees, quantities, evidence, verdicts, rows and suites
``statistics``        intervals, tests, enclosures and roots
``laws``              populations and pools of scores; pairs of output laws
``mechanisms``        the reference mechanisms, each with its law and proved guarantee
``audits``            audits of privacy claims: exact, sampled, local, of membership
``theorems``          coverage theorems as objects, their checks, the laws of scores to try
``targets``           third-party code as a target: kinds, specifications of checks
``runs``              runs of suites, what is printed of them, and commands
====================  ============================================================================

**Stability.** A name of these modules keeps its meaning within a minor version (0.2.x). It is
removed or changed only in the next minor version, after a release in which using it warns, and
the changelog says what to use instead. Every other module of ``dpcp_audit`` is internal.

Other packages register what they add by entry points: suites (``dpcp_audit.suites``), recipes
(``dpcp_audit.recipes``), calibrators (``dpcp_audit.calibrators``) and commands
(``dpcp_audit.commands``); ``pyproject.toml`` of this distribution registers the ledger's.

Examples
--------
>>> from dpcp_audit.extensions.claims import Claim, Row, Suite
>>> from dpcp_audit.extensions.mechanisms import PCOQS
>>> PCOQS(alpha=0.1, rho=0.5).guarantee
ZCDP(rho=0.5)
"""
