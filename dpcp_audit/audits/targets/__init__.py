"""Code that nobody here wrote: loaded, called, and its answers looked at before they are used."""

from dpcp_audit.audits.targets.errors import TargetError, TargetRaisedError, TargetUnusableError
from dpcp_audit.audits.targets.kinds import Kind, RandomStyle
from dpcp_audit.audits.targets.loading import SourceLocation
from dpcp_audit.audits.targets.spec import TargetSpec
from dpcp_audit.audits.targets.target import Target

__all__ = [
    "Kind",
    "RandomStyle",
    "SourceLocation",
    "Target",
    "TargetError",
    "TargetRaisedError",
    "TargetSpec",
    "TargetUnusableError",
]
