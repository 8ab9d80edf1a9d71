"""Types of numpy arrays. Imported for type checking only, because numpy is loaded when needed."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "Flags", "Floats", "Integers", "Objects", "Signs"]

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Bytes: TypeAlias = NDArray[np.uint8]
Signs: TypeAlias = NDArray[np.int8]
Flags: TypeAlias = NDArray[np.bool_]
Objects: TypeAlias = NDArray[np.object_]
