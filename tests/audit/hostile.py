"""Posts made to hurt a reader: each kind repeats what one of its patterns is slowest at, to any size."""

from __future__ import annotations

from collections.abc import Callable


def _repeated(piece: str, *, line: int = 0) -> Callable[[int], str]:
    """A post of *piece* over and over; with *line*, broken into lines of about that many characters."""

    def make(size: int) -> str:
        if not line:
            return (piece * (size // len(piece) + 1))[:size]
        one = (piece * (line // len(piece) + 1))[:line] + "\n"
        return (one * (size // len(one) + 1))[:size]

    return make


KINDS: dict[str, Callable[[int], str]] = {
    "digits": _repeated("1"),
    "digits in lines": _repeated("1", line=15_000),
    "numbers": _repeated("1.5 ms ", line=10_000),
    "numbers, one a line": _repeated("1.5 ms\n"),
    "pairs with gains": _repeated("12.4 ms -> 10.0 ms (-99.0%). ", line=5_000),
    "equations": _repeated("1.5 + 2.5 = 9.0 ms + ", line=5_000),
    "arrows": _repeated("1→", line=5_000),
    "blank lines": _repeated("\n"),
    "paragraphs": _repeated("a\n\n"),
    "words": _repeated("aaaa-bbbb.", line=19_000),
    "paths": _repeated("aaaa/bbbb/", line=19_000),
    "issue-like words": _repeated("a/b#", line=19_000),
    "version with a tail": _repeated("1.2.3" + "a" * 500 + "_", line=19_000),
    "comments": _repeated("<!--", line=19_000),
    "comments that close": _repeated("--><!--", line=19_000),
    "tags": _repeated("<a ", line=19_000),
    "images": _repeated("![", line=19_000),
    "image lines": _repeated("![a](b)\n"),
    "links": _repeated("[a](b", line=19_000),
    "emphasis": _repeated("**_", line=19_000),
    "struck out": _repeated("~~a", line=19_000),
    "backticks": _repeated("`", line=19_000),
    "fences": _repeated("```\n~~~\n"),
    "open fence": _repeated("```\n1.5 ms\n"),
    "quotes": _repeated(">", line=19_000),
    "pipes": _repeated("|", line=19_000),
    "rules": _repeated("|-|-|-\n"),
    "pipe tables": _repeated("|a|b|c|\n|-|-|-|\n|x|1 ms|2 ms|\n\n"),
    "wide pipe table": _repeated("|1 ms", line=19_000),
    "one long table": lambda size: "|a|before|after|Δ|\n|-|-|-|-|\n" + _repeated("|x|12.4 ms|10.0 ms|9.9 ms|\n")(size),
    "shares": lambda size: "|part|time|share|\n|-|-|-|\n" + _repeated("|x|12.4 ms|10.0%|\n|y|1.4 ms|70.0%|\n")(size),
    "tabs": _repeated("a\tb\tc\n"),
    "aligned words": _repeated("a  b  c\n"),
    "aligned numbers": _repeated("a  1 ms  2 ms\n"),
    "shell options": _repeated("-a=b=c=d", line=290),
    "shell options that break": lambda size: _repeated("--a" + "=b" * 120 + "  x\n")(size),
    "shell words": _repeated("git aaaa!", line=290),
    "indented": _repeated("    x = 1\n\n"),
    "superlatives": lambda size: (
        "|p|t|\n|-|-|\n|aaa|1 ms|\n|bbb|2 ms|\n\n" + _repeated("the largest is aaa; ", line=5_000)(size)
    ),
    "full width": _repeated("１２．５ｍｓ→１０．０ｍｓ，", line=5_000),
    "Chinese": _repeated("从 12.4 毫秒降至 10.0 毫秒，节省 9.9 毫秒", line=5_000),
    "filler": _repeated("a saving ", line=19_000),
    "about": _repeated("约约约~", line=19_000),
    "signs": _repeated("+-", line=19_000),
    "brackets": _repeated("[(", line=19_000),
    "entities": _repeated("&rarr;&", line=19_000),
}
