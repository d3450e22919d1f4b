"""What a process that ends soon need not load."""

from __future__ import annotations

import sys

BLAS = "scipy.linalg.cython_blas"


def load_compiler() -> None:
    """Numba without SciPy's linear algebra, for which it looks although no kernel of ours calls any: loading that takes
    half as long again."""
    if BLAS in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[BLAS] = None  # type: ignore[assignment]  # an import of it fails, until the next line is done
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[BLAS]
