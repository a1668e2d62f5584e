# %% [markdown]
# # A reviewer: which claims of a paper hold?
#
# The suite of the source papers has a row for each claim. Some of them here, by their ids.
# %%
import dpcp_audit as dp

papers = dp.run(only=["ldpcp.krr", "ldpcp.rr-debias*"], profile="smoke", jobs=1)
print(papers.verdict)
# %%
papers
# %% [markdown]
# Why k-ary randomised response holds in every case:
# %%
for premise in papers["ldpcp.krr"].proof.premises:
    print(premise.says, premise.holds)
