"""numpy, which is imported when it is first used, and the types of its arrays.

Importing numpy takes longer and more memory than all other imports of a small comparison, and a
worker process rarely needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

__all__ = ["Bytes", "Flags", "Floats", "Integers", "Objects", "Signs", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy:
        def __getattr__(self, name: str) -> object:
            import numpy as np

            attribute = getattr(np, name)
            setattr(self, name, attribute)  # read without this method from now on
            return attribute

    np = _Numpy()


# As text, because numpy.typing takes a third of the time of importing numpy.
Floats: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.intp]"
Bytes: TypeAlias = "NDArray[np.uint8]"
Signs: TypeAlias = "NDArray[np.int8]"
Flags: TypeAlias = "NDArray[np.bool_]"
Objects: TypeAlias = "NDArray[np.object_]"
