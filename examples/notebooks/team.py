# %% [markdown]
# # A team: a promise as a test
#
# The pytest fixture `dp_audit` and the file of checks have the same options. What the test does,
# by hand: a commit that halves the noise turns the build red.
# %%
import dpcp_audit as dp


def noisy_mean(scores, size, *, rng, factor=1.0):
    return scores.mean() + factor * rng.laplace(scale=1 / len(scores), size=size)


for factor in (1.0, 0.5):
    result = dp.audit(
        noisy_mean,
        dp.PureDP(1.0),
        n=20,
        vectorised=True,
        options={"factor": factor},
        false_alarm=1e-6,
    )
    print(f"noise × {factor}: {result.verdict}")


# %% [markdown]
# A conformal object of the team's own passes a battery of checks, or not.
# %%
class Everything:
    """All three labels, always."""

    def fit(self, rows, labels):
        return self

    def predict_set(self, rows):
        return [[0, 1, 2] for _ in rows]


print(dp.check_calibrator(Everything(), draws=100)["coverage"].verdict)
