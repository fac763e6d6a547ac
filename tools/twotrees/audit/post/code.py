"""Knows code that has lost its fences: a script or a shell session pasted as plain text.

In: blocks of lines between blank lines. Out: the same blocks, each called `code` or `text`. A block with a quantity
and its unit in running words is never code, so that no printed number is lost to a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Numbered = tuple[int, str]
MAX_CODE_LINE = 300

_SHELL = (
    r"git|uv|uvx|cd|pip3?|python3?|export|env|uname|lscpu|free|nvidia-smi|sudo|apt|apt-get|curl|wget|nox|bash|sh|cat|echo|"
    r"make|cmake|docker|conda|source|local|npm|cargo|pytest|srun|sbatch|ssh|scp|rsync|taskset|numactl|perf|mkdir|cp|mv|rm|ls"
)
_STRONG = re.compile(
    r"^\s*(?:"
    r"#!|\"\"\"|'''|@\w+[\w.]*(?:\(|$)"
    r"|(?:async\s+)?(?:def|class)\s+\w+.*:\s*(?:#.*)?$"
    r"|(?:for|while|if|elif|with|except|match|case)\b.*:\s*(?:#.*)?$|(?:try|else|finally)\s*:\s*$"
    r"|import\s+\w[\w., ]*$|from\s+[\w.]+\s+import\b"
    r"|return\b(?:\s*$|\s+[\w\[({\"'-].*[\])}\"'\w]$)|raise\s+\w+\(|yield\b|assert\s|pass$|break$|continue$"
    r"|(?:do|done|fi|then|esac|EOF)\s*;?\s*$|for\s+\w+\s+in\s.*;\s*do$|local\s+\w+(?:=|$)"
    r"|[A-Za-z_][\w.\[\]\"']*(?:\s*:\s*[\w\[\], .|]+)?\s*[-+*/|]?=\s*"
    r"(?:[\"'\[{(\\]|[A-Za-z_][\w.]*[\[(]|None\b|True\b|False\b)"
    r"|[A-Za-z_][\w.]*\(.*[\](),:{\[]\s*$"
    r"|[\])}]+[,;:]?\s*$|[\"'].*[\"']\s*[,:]\s*(?:[\[{(\"'].*)?$"
    r"|\$\s+\S|[{\[(]\s*$"
    rf"|(?:[A-Z_]+=\S+\s+)*(?:{_SHELL})\s+(?:-|[\w./@:$\"'{{}}=+-]+\s*(?:$|[-\"'|>&\\]|[\w./-]+\s*$))"
    rf"|(?:lscpu|env|uname)(?:\s|$)"
    r"|.*\s\\$|.*\"\$[A-Za-z_{@*#0-9]|--?[a-z][\w-]*(?:=\S+)?(?: \S+)*\s*\\?$"
    r")"
)
_WORDS_AND_NUMBER = re.compile(r"[0-9]\s?(?:ms|%|×|x\b|µs|us\b|倍|毫秒)")
_LISTED = re.compile(r"[ ]{0,3}(?:\||[-•*] )")
_CJK = re.compile(r"[\u4e00-\u9fff]")


def sorted_out(blocks: Sequence[Sequence[Numbered]]) -> Iterator[tuple[str, Sequence[Numbered]]]:
    """Calls each block code or text, looking at its neighbours where its own look does not tell."""
    looks = [_look(block) for block in blocks]
    quoting = False
    previous = "text"
    for place, (block, look) in enumerate(zip(blocks, _told_by_what_follows(looks), strict=True)):
        if quoting:
            look = "code"
        elif looks[place] == "either":
            indented = all(line.startswith(("  ", "\t")) for _, line in block)
            look = "code" if previous == "code" and (indented or look == "code") else "text"
        if look == "code":
            marks = sum(line.count('"""') + line.count("'''") for _, line in block)
            quoting ^= marks % 2 == 1
        previous = look
        yield look, block


def _told_by_what_follows(looks: Sequence[str]) -> list[str]:
    """Each `either` as the next block that is not one; text at the end."""
    told, following = [], "text"
    for look in reversed(looks):
        following = following if look == "either" else look
        told.append(following)
    return told[::-1]


def _look(block: Sequence[Numbered]) -> str:
    """`code`, `text`, or `either` where only the neighbours can tell."""
    lines = [line for _, line in block]
    if any("\t" in line.strip() for line in lines) or any(_is_prose(line) for line in lines):
        return "text"
    strong = sum(len(line) <= MAX_CODE_LINE and bool(_STRONG.match(line)) for line in lines)
    if 2 * strong >= len(lines):
        return "code"
    return "either" if strong or not any(_CJK.search(line) for line in lines) else "text"


def _is_prose(line: str) -> bool:
    """Chinese outside a comment or string, a table row, or a quantity among words."""
    if _LISTED.match(line):
        return True
    body = line.split("#", 1)[0]
    if _CJK.search(body) and '"' not in body and "'" not in body:
        return True
    return bool(_WORDS_AND_NUMBER.search(body)) and '"' not in body and "=" not in body
