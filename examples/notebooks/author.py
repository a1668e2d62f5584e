# %% [markdown]
# # Someone with a private quantile of their own
#
# The code is not changed; the audit searches for the neighbours on which its promise fails.
# %%
import numpy as np

import dpcp_audit as dp


def private_quantile(scores, size, *, rng):
    """Return the 0.9-quantile with the noise of a mean; the scores lie in [0, 1]."""
    return np.quantile(scores, 0.9) + rng.laplace(scale=1 / len(scores), size=size)


result = dp.audit(
    private_quantile, dp.PureDP(1.0), dp.Coverage(0.5), n=20, alpha=0.1, vectorised=True, draws=4000
)
result
# %% [markdown]
# The witness is the pair of data sets; a replay finds the same again.
# %%
broken = result["pure_dp"]
print(broken.estimate.lower > 1.0, broken.replay())
# %%
result.to_frame()[["claim", "verdict", "claimed"]]
