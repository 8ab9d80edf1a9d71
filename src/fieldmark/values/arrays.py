"""Types of numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# As text, because numpy.typing takes a third of the time of importing numpy.
Floats: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.intp]"
Bytes: TypeAlias = "NDArray[np.uint8]"
Signs: TypeAlias = "NDArray[np.int8]"
Flags: TypeAlias = "NDArray[np.bool_]"
Objects: TypeAlias = "NDArray[np.object_]"
