"""The whole corpus of hostile bundles, gathered: signatures, bag, names, archives, meaning."""

from __future__ import annotations

import synthetic.hostile_archives
import synthetic.hostile_bag
import synthetic.hostile_campaign
import synthetic.hostile_meaning
import synthetic.hostile_names
import synthetic.hostile_signatures  # noqa: F401
from synthetic.corpus import CASES

__all__ = ["CASES"]
