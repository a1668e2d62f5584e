"""Private training and its audits; needs the extra ``dpsgd`` (PyTorch, Opacus)."""

from __future__ import annotations

from dpcp_audit.mechanisms.dpsgd import linear as linear
from dpcp_audit.mechanisms.dpsgd import networks as networks
from dpcp_audit.mechanisms.dpsgd.gradients import AdamMoments as AdamMoments
from dpcp_audit.mechanisms.dpsgd.gradients import FlatModel as FlatModel
from dpcp_audit.mechanisms.dpsgd.gradients import clip_factors as clip_factors
from dpcp_audit.mechanisms.dpsgd.gradients import clipped_sum as clipped_sum
from dpcp_audit.mechanisms.dpsgd.gradients import cross_entropy_gradient as cross_entropy_gradient
from dpcp_audit.mechanisms.dpsgd.gradients import norms as norms
from dpcp_audit.mechanisms.dpsgd.networks import Trained as Trained
from dpcp_audit.mechanisms.dpsgd.networks import finished as finished
from dpcp_audit.mechanisms.dpsgd.networks import in_mode as in_mode
from dpcp_audit.mechanisms.dpsgd.networks import logistic as logistic
from dpcp_audit.mechanisms.dpsgd.networks import seeded as seeded
from dpcp_audit.mechanisms.dpsgd.training import Step as Step
from dpcp_audit.mechanisms.dpsgd.training import train as train
