"""Room of the report, the last one: a campaign's data folder in; what people look at and other tools read out.

`facts` reads the folder once; `terminal`, `markdown`, `html` and `index` only lay out; `exports/` holds one file per
foreign format.
"""

from twotrees.report import html, markdown, terminal
from twotrees.report.progress import Progress

__all__ = ["Progress", "html", "markdown", "terminal"]
