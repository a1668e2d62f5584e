"""The reference mechanisms, each with its law and the guarantee that is proved of it."""

from __future__ import annotations

from dpcp_audit.mechanisms.calibrate import PrivateThreshold as PrivateThreshold
from dpcp_audit.mechanisms.calibrate import calibrate as calibrate
from dpcp_audit.mechanisms.calibrators import ProvedCalibrator as ProvedCalibrator
from dpcp_audit.mechanisms.calibrators import calibrators as calibrators
from dpcp_audit.mechanisms.conformal import SplitConformal as SplitConformal
from dpcp_audit.mechanisms.conformal import conformal_rank as conformal_rank
from dpcp_audit.mechanisms.dpsgd import require_torch as require_torch
from dpcp_audit.mechanisms.dpsgd.examples import Examples as Examples
from dpcp_audit.mechanisms.dpsgd.examples import GradientCanaries as GradientCanaries
from dpcp_audit.mechanisms.dpsgd.examples import digits as digits
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian as SubsampledGaussian
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import (
    noise_multiplier_for as noise_multiplier_for,
)
from dpcp_audit.mechanisms.dpsgd.training_settings import DPSGD as DPSGD
from dpcp_audit.mechanisms.dpsgd.training_settings import SGD as SGD
from dpcp_audit.mechanisms.dpsgd.training_settings import Adam as Adam
from dpcp_audit.mechanisms.dpsgd.training_settings import Augmentation as Augmentation
from dpcp_audit.mechanisms.dpsgd.training_settings import Clipping as Clipping
from dpcp_audit.mechanisms.dpsgd.training_settings import Flaw as Flaw
from dpcp_audit.mechanisms.dpsgd.training_settings import Poisson as Poisson
from dpcp_audit.mechanisms.exponential_quantile import ExponQ as ExponQ
from dpcp_audit.mechanisms.exponential_quantile import Normaliser as Normaliser
from dpcp_audit.mechanisms.exponential_quantile import bin_index as bin_index
from dpcp_audit.mechanisms.exponential_quantile import optimal_gamma as optimal_gamma
from dpcp_audit.mechanisms.gaussian import Calibration as Calibration
from dpcp_audit.mechanisms.gaussian import GaussianMechanism as GaussianMechanism
from dpcp_audit.mechanisms.histlap import EmptyHistogram as EmptyHistogram
from dpcp_audit.mechanisms.histlap import HistLap as HistLap
from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels as LDPCPLabels
from dpcp_audit.mechanisms.ldpcp.label_calibration import NoiseAwareLabels as NoiseAwareLabels
from dpcp_audit.mechanisms.ldpcp.label_calibration import dkw_width as dkw_width
from dpcp_audit.mechanisms.ldpcp.label_calibration import label_users as label_users
from dpcp_audit.mechanisms.ldpcp.label_calibration import score_table as score_table
from dpcp_audit.mechanisms.ldpcp.label_trials import CellCounts as CellCounts
from dpcp_audit.mechanisms.ldpcp.score_calibration import LDPCPScores as LDPCPScores
from dpcp_audit.mechanisms.ldpcp.score_calibration import hoeffding_width as hoeffding_width
from dpcp_audit.mechanisms.ldpcp.window import Blocks as Blocks
from dpcp_audit.mechanisms.ldpcp.window import Debiasing as Debiasing
from dpcp_audit.mechanisms.ldpcp.window import LabelSearch as LabelSearch
from dpcp_audit.mechanisms.ldpcp.window import OnMiss as OnMiss
from dpcp_audit.mechanisms.ldpcp.window import Window as Window
from dpcp_audit.mechanisms.ldpcp.window import WindowSearch as WindowSearch
from dpcp_audit.mechanisms.ldpcp.window_law import threshold_law as threshold_law
from dpcp_audit.mechanisms.pcoqs.iid_coverage import coverage_given_noise as coverage_given_noise
from dpcp_audit.mechanisms.pcoqs.iid_coverage import coverage_outside as coverage_outside
from dpcp_audit.mechanisms.pcoqs.privacy_budget import claimed_rho as claimed_rho
from dpcp_audit.mechanisms.pcoqs.privacy_budget import game_delta as game_delta
from dpcp_audit.mechanisms.pcoqs.privacy_budget import largest_fitting as largest_fitting
from dpcp_audit.mechanisms.pcoqs.privacy_budget import proven_rho as proven_rho
from dpcp_audit.mechanisms.pcoqs.privacy_budget import worst_known_pair as worst_known_pair
from dpcp_audit.mechanisms.pcoqs.release import PCOQS as PCOQS
from dpcp_audit.mechanisms.pcoqs.release import largest_bit_divergence as largest_bit_divergence
from dpcp_audit.mechanisms.private_pipeline import PrivatePipeline as PrivatePipeline
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse as BinaryRandomizedResponse,
)
from dpcp_audit.mechanisms.randomized_response import (
    KaryRandomizedResponse as KaryRandomizedResponse,
)
from dpcp_audit.mechanisms.shuffle import hidden_laws as hidden_laws
