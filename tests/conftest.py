from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of PyTorch: the cores are shared by the workers

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("ci")
