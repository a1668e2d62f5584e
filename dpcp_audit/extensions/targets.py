"""Third-party code as a target: kinds, specifications of checks, and their rows."""

from __future__ import annotations

from dpcp_audit.target_checks import recipes as recipes
from dpcp_audit.target_checks.check_spec import CheckSpec as CheckSpec
from dpcp_audit.target_checks.config_file import suite_of_file as suite_of_file
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE as COVERAGE_SIZE
from dpcp_audit.target_checks.loss_rows import TargetTrace as TargetTrace
from dpcp_audit.target_checks.recipes import Recipe as Recipe
from dpcp_audit.target_checks.target_claims import TargetCoverage as TargetCoverage
from dpcp_audit.target_checks.target_claims import TargetPrivacy as TargetPrivacy
from dpcp_audit.target_checks.target_rows import rows_of_targets as rows_of_targets
from dpcp_audit.targets import Kind as Kind
from dpcp_audit.targets import TargetSpec as TargetSpec
