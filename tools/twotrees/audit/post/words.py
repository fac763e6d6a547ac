"""The vocabulary of performance posts, English and Chinese: which words make a number a before, an after, a saving.

Pure tables and patterns. A word that means two things is left out: what is not understood is listed, never guessed.
"""

from __future__ import annotations

import re
from enum import Enum


class Role(Enum):
    """What a column header, or the word beside a number, says the number is."""

    NONE = "none"
    CHANGE = "change"
    SAVED = "saved"
    FASTER = "faster"
    INCREASE = "increase"
    SLOWER = "slower"
    RATIO = "ratio"
    SHARE = "share"


def _words(english: str, chinese: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9_])(?:{english})(?![a-z0-9_])|{chinese}", re.IGNORECASE)


BEFORE = _words(
    r"before|baseline|base|old|previous|prior|original|main|master|unoptimi[sz]ed|unpatched",
    r"(?:优化|改进|修改|改动|重构)?(?<![目当以提])前(?!缀|端|面|向)|改前|之前|原来|原版|旧版?|基线",
)
AFTER = _words(
    r"after|new|optimi[sz]ed|patched|this pr|pr|head|branch|candidate|ours",
    r"(?:优化|改进|修改|改动|重构)?(?<![以之最随然])后(?!端|续|面|缀|台|处理)|改后|之后|新版?(?!增)",
)

# In this order: "speedup ratio" is a speed-up, "saved time share" a share.
ROLES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    (Role.SHARE, _words(r"share|fraction|portion|proportion|% of|percent of|of total", r"占比|占|比重|份额")),
    (
        Role.SAVED,
        _words(
            r"saved?|saves|savings?|reduc(?:tion|ed|es|ing|e)|decreas(?:e|ed|es)|drop(?:s|ped)?|cuts?|less|lower|fewer|"
            r"shorter|down|fell|falls",
            r"节省|节约|减少|降低|下降|降幅|降了|缩短|省下?",
        ),
    ),
    (Role.SLOWER, _words(r"slower|slow-?downs?|regress(?:ion|ed|es)?|worse", r"变慢|更慢|慢了?|退化|劣化|回退")),
    (
        Role.FASTER,
        _words(
            r"speed-?ups?|faster|quicker|improve(?:ment|d|s)?|gains?|boost",
            r"提速|加速比?|提升|收益|改善|改进幅度|更?快了?|提高",
        ),
    ),
    (Role.INCREASE, _words(r"increas(?:e|ed|es)|more|higher|up|longer|grew|rises?|rose", r"增加|上升|增长|升高|变长")),
    (Role.CHANGE, _words(r"delta|diff(?:erence)?|changes?", r"[Δ∆]|变化|差值|差异|变动")),
    (Role.RATIO, _words(r"ratio|relative|normali[sz]ed|vs\.?|versus", r"比值|相对|倍数")),
)

MEDIAN = _words(r"medians?|p50", r"中位数?")
MEAN = _words(r"means?|avg\.?|averages?", r"平均值?|均值")
MINIMUM = _words(r"min(?:imum)?|best|fastest|least", r"最小值?|最快|最低")
MAXIMUM = _words(r"max(?:imum)?|worst|slowest", r"最大值?|最慢|最高")
SPREAD = _words(r"range|spread", r"极差")
STATISTICS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("median", MEDIAN),
    ("mean", MEAN),
    ("min", MINIMUM),
    ("max", MAXIMUM),
    ("spread", SPREAD),
)

TOTAL_ROW = re.compile(r"(?:total|sum|overall|合计|总计|总和|总共)(?: time| ms)?", re.IGNORECASE)
PART_ROW = re.compile(r"residual|remainder|rest|other|uncovered|unaccounted|未覆盖|其他|其它|剩余", re.IGNORECASE)
RUN_COLUMN = re.compile(
    r"(?:run|trial|repeat|rep|round|r|iter|iteration|sample|第|#)?[ ._-]?#?(?:[0-9]{1,2}|[一二三四五六七八九十])"
    r"[ ]?(?:次|轮|st|nd|rd|th)?(?: run| round| trial)?",
    re.IGNORECASE,
)

# Between the two numbers of a pair. The order is that of the text: first → second.
ARROW = re.compile(r"\s*(?:→|-{1,2}>|={1,2}>)\s*")
BECOMES = re.compile(
    r"\s*[,，]?\s*(?:已|就|直接)?(?:下降|降低|减少|缩短|提升|提高|增加|上升|优化|改进|压缩|升|降|减|变|缩)(?:到了?|至|为|成)\s*"
)
UNTIL = re.compile(r"\s*(?:到|至|变为|变成|(?:down |up )?to)\s*", re.IGNORECASE)
SINCE = re.compile(r"(?:从|由|\bfrom)\s*$", re.IGNORECASE)
NOW = re.compile(r"\s*[,，;；]?\s*(?:and |(?:it )?is )?now\s*:?\s*", re.IGNORECASE)
WAS = re.compile(r"\b(?:was|used to be)\s*:?\s*$", re.IGNORECASE)
INSTEAD = re.compile(r"\s*,?\s*(?:instead of|rather than|而不是|而非)\s*", re.IGNORECASE)
AGAINST = re.compile(r"\s*(?:vs\.?|versus|对比)\s*", re.IGNORECASE)
OF_WHOLE = re.compile(r"\s*(?:out )?of\s*(?:a |the )?(?:total )?(?:of )?", re.IGNORECASE)
CN_OF_WHOLE = re.compile(r"\s*[,，]?\s*占(?:总时间|总耗时|总计|其中)?\s*")

# Words and marks that may stand between a pair and the gains that belong to it; anything else names another subject.
FILLER = re.compile(
    r"[\s,，、/|()\[\]:=≈~·→–—*_.-]|"
    r"\b(?:i\.e|that|is|or|and|an?|the|of|by|which|this|it|are|for|with|sav(?:es?|ed|ings?)|reduction|reduced|decreased?|drop|"
    r"dropped|cut|less|lower|fewer|shorter|down|faster|quicker|speed-?up|improve(?:ment|d|s)|gains?|slower|increased?|"
    r"more|higher|up|longer|roughly|about|total|per|step|a|each|in|overall|as|fast|time|relative|change|delta|means|"
    r"giving|so|thus)\b|"
    r"[即了为约达共到是的快慢]|也就是|相当于|节省|节约|减少|降低|下降|降幅|缩短|提速|加速比?|提升|收益|改善|提高|增加|上升|变慢|变快|"
    r"更快|每步|其中|合计|总共|幅度",
    re.IGNORECASE,
)
RESPECTIVELY = re.compile(r"respectively|\beach\b|分别|各自", re.IGNORECASE)


def only_filler(text: str) -> bool:
    """Whether *text* names nothing: only punctuation and words of gain and connection."""
    return len(text) < 200 and not FILLER.sub("", text)


def role_of(text: str) -> Role:
    """The first role whose words occur in *text*."""
    return next((role for role, pattern in ROLES if pattern.search(text)), Role.NONE)


def nearest_role(text: str) -> Role:
    """The role whose word stands last in *text*: the one right before a number."""
    found = [(match.end(), role) for role, pattern in ROLES for match in pattern.finditer(text)]
    return max(found, key=lambda one: one[0], default=(0, Role.NONE))[1]


def statistic_of(text: str) -> str:
    """The statistic that a header names, or the empty string."""
    return next((name for name, pattern in STATISTICS if pattern.search(text)), "")


_UNIT_NOTE = re.compile(r"[(\[][^()\[\]]{0,20}[)\]]")
_TOKEN = re.compile(r"[a-z0-9_][a-z0-9_./]*|[\u4e00-\u9fff]+")
_EMPTY_WORDS = frozenset(
    [
        "ms",
        "us",
        "ns",
        "s",
        "x",
        "the",
        "a",
        "an",
        "of",
        "per",
        "in",
        "and",
        "or",
        "to",
        "step",
        "each",
        "time",
        "backend",
        "metric",
        "env/s",
        "steps/s",
        "每步",
        "耗时",
        "时间",
        "三轮",
        "完整",
        "的",
    ]
)


_SAID = re.compile(
    "|".join(one.pattern for one in (BEFORE, AFTER, *(one for _, one in ROLES), *(one for _, one in STATISTICS))),
    re.IGNORECASE,
)


def without_unit_note(header: str) -> str:
    """The header without "(ms)" and the like."""
    return _UNIT_NOTE.sub(" ", header).strip()


def label(text: str) -> frozenset[str]:
    """What a header or row label is about, as a set of words: units, statistics, arms and gains are taken away."""
    bare = _SAID.sub(" ", _UNIT_NOTE.sub(" ", text.lower()))
    return frozenset(word.rstrip("./") for word in _TOKEN.findall(bare)) - _EMPTY_WORDS
