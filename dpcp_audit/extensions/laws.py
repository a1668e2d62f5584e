"""Laws of scores and of outputs: populations, pools, finite and Gaussian pairs."""

from __future__ import annotations

from dpcp_audit.laws.laws import FiniteLaw as FiniteLaw
from dpcp_audit.laws.laws import FinitePair as FinitePair
from dpcp_audit.laws.laws import GaussianPair as GaussianPair
from dpcp_audit.laws.laws import LaplacePair as LaplacePair
from dpcp_audit.laws.laws import LawPair as LawPair
from dpcp_audit.laws.losses import guarantee_pair as guarantee_pair
from dpcp_audit.laws.losses import loss_of as loss_of
from dpcp_audit.laws.pools import SHIPPED as SHIPPED
from dpcp_audit.laws.pools import Classifier as Classifier
from dpcp_audit.laws.pools import Dataset as Dataset
from dpcp_audit.laws.pools import ProbabilityPool as ProbabilityPool
from dpcp_audit.laws.pools import classifier_pool as classifier_pool
from dpcp_audit.laws.pools import hps as hps
from dpcp_audit.laws.pools import load_pool as load_pool
from dpcp_audit.laws.pools import true_label_scores as true_label_scores
from dpcp_audit.laws.populations import Beta as Beta
from dpcp_audit.laws.populations import Deferred as Deferred
from dpcp_audit.laws.populations import PiecewiseConstant as PiecewiseConstant
from dpcp_audit.laws.populations import Pool as Pool
from dpcp_audit.laws.populations import Population as Population
from dpcp_audit.laws.populations import Uniform as Uniform
from dpcp_audit.laws.populations import atoms as atoms
