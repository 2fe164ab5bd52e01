"""Encoders whose vectors show what happened in the child process."""

import os
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class ProcessEncoder:
    """An encoder that returns the vectors (process id, niceness).

    The text "sleep" takes half a second, "die" ends the process, and "fail" raises.
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if "sleep" in texts:
            time.sleep(0.5)
        if "die" in texts:
            os._exit(1)
        if "fail" in texts:
            raise ValueError("asked to")
        return np.array([[os.getpid(), os.nice(0)]] * len(texts), np.float32)
