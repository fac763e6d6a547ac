"""All bundles of a folder on one page: a table that sorts itself without a server, and the trend over commits.

In: a folder of bundles. Out: one self-contained page. A bundle that cannot be read is listed with the reason.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from twotrees.bundle import layout
from twotrees.digest import sha256_file
from twotrees.errors import BundleBroken, UsageError
from twotrees.report import html, numbers
from twotrees.report.facts import Campaign, Effect, read_outline
from twotrees.report.scale import Tick, axis_over
from twotrees.report.text import clean
from twotrees.report.words import ENGLISH

INDEX = "index.html"
PAGES = ("data/report.html", "data/report.md")


@dataclass(frozen=True)
class Listed:
    """One bundle of the folder."""

    name: str
    root: str
    link: str
    campaign: Campaign


@dataclass(frozen=True)
class Unreadable:
    """A folder that looks like a bundle and cannot be read."""

    name: str
    reason: str


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    created: str
    study: str
    backend: str
    arms: str
    commit: str
    metric: str
    before_after: str
    after_ms: float
    saved: str
    saved_key: float
    saved_range: str
    verdict: str
    labels: str
    root: str
    link: str


@dataclass(frozen=True)
class Point:
    """One arm of one bundle on a trend."""

    label: str
    value: str
    style: int
    place_pct: float
    low_pct: float | None
    high_pct: float | None


@dataclass(frozen=True)
class Trend:
    """One quantity of one study on one backend, oldest commit first."""

    title: str
    points: tuple[Point, ...]
    ticks: tuple[Tick, ...]
    zero_pct: float


def write(results: Path, *, metric: str | None = None) -> Path:
    """Writes ``index.html`` into a folder of bundles and gives its path.

    Raises:
        UsageError: the folder is not there or cannot be written.
    """
    page = render(results, metric=metric)
    path = results / INDEX
    draft = results / f".{INDEX}.part"
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(path)
    except OSError as fault:
        raise UsageError(f"cannot be written: {fault.strerror}", file=path) from None
    return path


def render(results: Path, *, metric: str | None = None) -> str:
    """The page.

    Args:
        results: A folder of bundles.
        metric: Which metric to show; by default the one that each bundle's verdict is about.

    Raises:
        UsageError: there is no such folder.
    """
    if not results.is_dir():
        raise UsageError("no such folder", file=results)
    bundles, unreadable = read_folder(results)
    bundles.sort(key=lambda one: one.campaign.created, reverse=True)
    script = Markup((html.TEMPLATES / "sort.js").read_text(encoding="utf-8"))
    page = {
        "bundles": bundles,
        "unreadable": unreadable,
        "lines": [line for one in bundles for line in lines_of(one, metric)],
        "trends": trends_of(list(reversed(bundles)), metric),
        "style": html.style(),
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    return html.environment().get_template("index.html.j2").render(page)


def read_folder(results: Path) -> tuple[list[Listed], list[Unreadable]]:
    """Every folder with a plan in it, read; campaigns in work (names with a leading dot) are passed over."""
    bundles, unreadable = [], []
    for folder in sorted(path for path in results.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if not (folder / layout.PLAN).is_file():
            continue
        page = next((name for name in PAGES if (folder / name).is_file()), "")
        link = f"./{quote(folder.name)}/{page}" if page else ""
        try:
            tags = folder / layout.TAG_MANIFEST
            root = sha256_file(tags)[:8] if tags.is_file() else "not sealed"
            bundles.append(Listed(clean(folder.name), root, link, read_outline(folder / layout.PAYLOAD)))
        except BundleBroken as fault:
            where = [Path(fault.file).name if fault.file else "", fault.key or "", fault.what]
            unreadable.append(Unreadable(clean(folder.name), clean(": ".join(filter(None, where)), 300)))
        except OSError as fault:
            unreadable.append(Unreadable(clean(folder.name), fault.strerror or type(fault).__name__))
    return bundles, unreadable


def shown_effects(campaign: Campaign, metric: str | None) -> Sequence[Effect]:
    """The effects of the asked metric, or of the headline."""
    if metric is None:
        return campaign.headline
    return [effect for effect in campaign.effects if effect.metric == metric]


def lines_of(bundle: Listed, metric: str | None) -> list[Line]:
    """The rows of one bundle; one row that says so where it has no such effect."""
    campaign = bundle.campaign
    commits = {arm.name: arm.commit for arm in campaign.arms}
    common = {
        "created": campaign.created,
        "study": campaign.study,
        "backend": campaign.backend,
        "labels": "; ".join(campaign.labels),
        "root": bundle.root,
        "link": bundle.link,
    }
    made = [
        Line(
            arms=f"{effect.arm} / {effect.baseline}",
            commit=commits.get(effect.arm, ""),
            metric=ENGLISH.metric(effect.metric),
            before_after=f"{numbers.ms(effect.before_ms)} → {numbers.ms(effect.after_ms)}",
            after_ms=effect.after_ms,
            saved=numbers.pct(effect.saved_pct),
            saved_key=effect.saved_pct or 0.0,
            saved_range=numbers.pct_range(effect.saved_pct_range),
            verdict=effect.verdict,
            **common,
        )
        for effect in shown_effects(campaign, metric)
    ]
    arms = " / ".join(arm.name for arm in reversed(campaign.arms))
    nothing = Line(
        arms=arms, commit="", metric="", before_after="", after_ms=0.0, saved="", saved_key=0.0, saved_range="",
        verdict="none", **common,
    )  # fmt: skip
    return made or [nothing]


def trends_of(bundles: Sequence[Listed], metric: str | None) -> list[Trend]:
    """One trend for each study, backend and metric that two or more arms' commits have a comparable effect in."""
    series: dict[tuple[str, str, str], list[tuple[Listed, Effect]]] = {}
    for bundle in bundles:
        for effect in shown_effects(bundle.campaign, metric):
            if effect.saved_pct is not None and effect.verdict != "not comparable":
                key = (bundle.campaign.study, bundle.campaign.backend, effect.metric)
                series.setdefault(key, []).append((bundle, effect))
    return [_trend(key, members) for key, members in series.items() if len(members) > 1]


def _trend(key: tuple[str, str, str], members: Sequence[tuple[Listed, Effect]]) -> Trend:
    reached = [0.0]
    for _, effect in members:
        interval = effect.saved_pct_range
        reached += [max(effect.saved_pct or 0.0, -110.0)]
        reached += [] if interval is None else [max(interval.low, -110.0), interval.high]
    axis = axis_over(reached)
    arms = list(dict.fromkeys(effect.arm for _, effect in members))
    points = []
    for bundle, effect in members:
        commit = next((arm.commit for arm in bundle.campaign.arms if arm.name == effect.arm), "")
        interval = effect.saved_pct_range
        points.append(
            Point(
                label=f"{bundle.campaign.created[:10]} {effect.arm} {commit[:8]}",
                value=f"{numbers.pct(effect.saved_pct)} {numbers.pct_range(interval)}".strip(),
                style=1 + arms.index(effect.arm) % 5,
                place_pct=axis.place_pct(effect.saved_pct or 0.0),
                low_pct=None if interval is None else axis.place_pct(interval.low),
                high_pct=None if interval is None else axis.place_pct(interval.high),
            )
        )
    study, backend, metric = key
    return Trend(f"{study}, {backend}: {ENGLISH.metric(metric)}", tuple(points), axis.ticks(), axis.place_pct(0.0))
