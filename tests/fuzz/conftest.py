"""One torch thread a process: the tensors are small, and tests run side by side."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
