"""Statistics with stated errors: intervals, tests, enclosures and roots."""

from __future__ import annotations

from dpcp_audit.stats import rates as rates
from dpcp_audit.stats.bounded_mean import MeanBets as MeanBets
from dpcp_audit.stats.enclosures import Exact as Exact
from dpcp_audit.stats.enclosures import all_at_most as all_at_most
from dpcp_audit.stats.enclosures import at_most as at_most
from dpcp_audit.stats.enclosures import ball as ball
from dpcp_audit.stats.enclosures import composed_delta as composed_delta
from dpcp_audit.stats.enclosures import decimal as decimal
from dpcp_audit.stats.enclosures import ends as ends
from dpcp_audit.stats.enclosures import exact as exact
from dpcp_audit.stats.enclosures import gaussian_delta as gaussian_delta
from dpcp_audit.stats.enclosures import normal_cdf as normal_cdf
from dpcp_audit.stats.enclosures import response_keep as response_keep
from dpcp_audit.stats.enclosures import upper as upper
from dpcp_audit.stats.rates import clopper_pearson as clopper_pearson
from dpcp_audit.stats.roots import find_root as find_root
from dpcp_audit.stats.roots import turn as turn
from dpcp_audit.stats.roots import turn_by_factor as turn_by_factor
