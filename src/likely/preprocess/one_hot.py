r"""One-hot vectors: class y becomes the unit vector $e_y$.

Any two classes are then $\lVert e_i - e_j \rVert = \sqrt 2$ apart: no order, and no
class nearer than another.
"""

from typing import Any

from jaxtyping import Float, Int


def one_hot(codes: Int[Any, " n"], k: int) -> Float[Any, "n k"]:
    """Rows $e_{y_i}$ of length k; a code outside 0 ... k − 1 becomes a row of zeros.

    Args:
        codes: integers, NumPy's or JAX's.
        k: how many classes there are.

    Examples:
        >>> lk.preprocess.one_hot(np.array([0, 2]), 3)
        array([[1., 0., 0.],
               [0., 0., 1.]])
    """
    xp = codes.__array_namespace__()
    return (codes[:, None] == xp.arange(k)[None]).astype(float)
