"""Targets: third-party code under audit, loaded, called, its answers validated before use."""

from dpcp_audit.targets.answers import TargetError, TargetRaisedError, TargetUnusableError
from dpcp_audit.targets.kinds import Gives, Kind, RandomStyle, Takes, kinds_that
from dpcp_audit.targets.target import Target, TargetSpec

__all__ = [
    "Gives",
    "Kind",
    "RandomStyle",
    "Takes",
    "Target",
    "TargetError",
    "TargetRaisedError",
    "TargetSpec",
    "TargetUnusableError",
    "kinds_that",
]
