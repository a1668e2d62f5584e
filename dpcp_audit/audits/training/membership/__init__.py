"""Membership inference on trained models: shadow models, LiRA, and what a conformal set shows.

``cohorts``, ``views``, ``attacks`` and ``check`` need no PyTorch; ``models``, which trains,
imports it when it is called.
"""
