"""The reference mechanisms, each with its law and the guarantee that is proved of it."""

from __future__ import annotations

from dpcp_audit.mechanisms.calibrators import PrivateThreshold as PrivateThreshold
from dpcp_audit.mechanisms.calibrators import ProvedCalibrator as ProvedCalibrator
from dpcp_audit.mechanisms.calibrators import calibrate as calibrate
from dpcp_audit.mechanisms.calibrators import calibrators as calibrators
from dpcp_audit.mechanisms.iid_coverage import coverage_given_noise as coverage_given_noise
from dpcp_audit.mechanisms.iid_coverage import coverage_outside as coverage_outside
from dpcp_audit.mechanisms.local_labels import CellCounts as CellCounts
from dpcp_audit.mechanisms.local_labels import LDPCPLabels as LDPCPLabels
from dpcp_audit.mechanisms.local_labels import NoiseAwareLabels as NoiseAwareLabels
from dpcp_audit.mechanisms.local_labels import dkw_width as dkw_width
from dpcp_audit.mechanisms.local_labels import label_users as label_users
from dpcp_audit.mechanisms.local_labels import score_table as score_table
from dpcp_audit.mechanisms.local_scores import Blocks as Blocks
from dpcp_audit.mechanisms.local_scores import Debiasing as Debiasing
from dpcp_audit.mechanisms.local_scores import LabelSearch as LabelSearch
from dpcp_audit.mechanisms.local_scores import LDPCPScores as LDPCPScores
from dpcp_audit.mechanisms.local_scores import OnMiss as OnMiss
from dpcp_audit.mechanisms.local_scores import Window as Window
from dpcp_audit.mechanisms.local_scores import WindowSearch as WindowSearch
from dpcp_audit.mechanisms.local_scores import hoeffding_width as hoeffding_width
from dpcp_audit.mechanisms.local_scores import threshold_law as threshold_law
from dpcp_audit.mechanisms.pcoqs import PCOQS as PCOQS
from dpcp_audit.mechanisms.pcoqs import largest_bit_divergence as largest_bit_divergence
from dpcp_audit.mechanisms.pcoqs_budget import Calibration as Calibration
from dpcp_audit.mechanisms.pcoqs_budget import GaussianMechanism as GaussianMechanism
from dpcp_audit.mechanisms.pcoqs_budget import claimed_rho as claimed_rho
from dpcp_audit.mechanisms.pcoqs_budget import game_delta as game_delta
from dpcp_audit.mechanisms.pcoqs_budget import largest_fitting as largest_fitting
from dpcp_audit.mechanisms.pcoqs_budget import proven_rho as proven_rho
from dpcp_audit.mechanisms.pcoqs_budget import worst_known_pair as worst_known_pair
from dpcp_audit.mechanisms.quantiles import ExponQ as ExponQ
from dpcp_audit.mechanisms.quantiles import Normaliser as Normaliser
from dpcp_audit.mechanisms.quantiles import ThresholdTrials as ThresholdTrials
from dpcp_audit.mechanisms.quantiles import bin_index as bin_index
from dpcp_audit.mechanisms.quantiles import conformal_rank as conformal_rank
from dpcp_audit.mechanisms.quantiles import drawn_mass as drawn_mass
from dpcp_audit.mechanisms.quantiles import optimal_gamma as optimal_gamma
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse as BinaryRandomizedResponse,
)
from dpcp_audit.mechanisms.randomized_response import (
    KaryRandomizedResponse as KaryRandomizedResponse,
)
from dpcp_audit.mechanisms.randomized_response import hidden_laws as hidden_laws
from dpcp_audit.mechanisms.subsampled_gaussian import Envelope as Envelope
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian as SubsampledGaussian
from dpcp_audit.mechanisms.subsampled_gaussian import composed_loss as composed_loss
from dpcp_audit.mechanisms.subsampled_gaussian import envelope as envelope
from dpcp_audit.mechanisms.subsampled_gaussian import least_line as least_line
from dpcp_audit.mechanisms.subsampled_gaussian import loss_interval as loss_interval
from dpcp_audit.mechanisms.subsampled_gaussian import noise_multiplier_for as noise_multiplier_for
