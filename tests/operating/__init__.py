"""Error rates and power of adaptive regression runs in simulated worlds."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # small matrices, many processes: threads inside them only get in the way
