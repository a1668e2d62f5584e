"""DP-SGD and DP-Adam: the reference trainings, many models side by side.

``settings`` and ``examples`` need nothing beyond NumPy; ``training`` and ``networks`` need the
extra ``dpsgd`` (PyTorch, Opacus).
"""
