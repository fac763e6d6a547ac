"""The journal of a bundle: the hash chain from the plan to the last run, and the order of events in it.

In come its lines and the digests of the files that they name, out comes for each attempt what the journal says of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from twotrees.bundle import layout
from twotrees.bundle.plan import Plan
from twotrees.bundle.read import Contents
from twotrees.bundle.shape import HEX_64, Node
from twotrees.bundle.tags import broken
from twotrees.digest import sha256_json

GENESIS = "0" * 64


@dataclass
class Story:
    """What the journal tells.

    Attributes:
        planned_at: When the plan was written down.
        runs: For each attempt, in order, the planned run that it was of.
        statuses: For each attempt how it ended.
        sessions: For each attempt how often the campaign had been resumed before it.
        interruptions: How often the campaign was interrupted or resumed.
        closed: Whether its last line has been read.
    """

    planned_at: datetime
    runs: dict[int, int] = field(default_factory=dict)
    statuses: dict[int, str] = field(default_factory=dict)
    sessions: dict[int, int] = field(default_factory=dict)
    interruptions: int = 0
    closed: bool = False


def read_journal(contents: Contents, plan: Plan, limits: layout.Limits) -> Story:
    """Reads the journal.

    Raises:
        BundleBroken: a line that is not chained, out of order, or at odds with the file that it names.
    """
    story: Story | None = None
    head = GENESIS
    for number, value in contents.json_lines(layout.JOURNAL, limits):
        line = Node(value, f"{layout.JOURNAL}: line {number}")
        line["seq"].equals(number - 1, "its place")
        line["prev"].equals(head, "the line before it")
        head = line["hash"].text(HEX_64)
        if sha256_json({key: item for key, item in value.items() if key != "hash"}) != head:
            line.refuse("its hash is not that of its content")
        event, moment = line["event"].text(), line["time"].moment()
        if story is None:
            if event != "plan":
                line.refuse("the journal does not begin with the plan: it was hashed after the first run")
            line["sha256"].equals(contents.files[layout.PLAN].sha256, layout.MANIFEST)
            story = Story(moment)
        elif story.closed:
            line.refuse("a line after the campaign was closed")
        else:
            _take(story, line, event, contents, plan)
    if story is None or not story.closed:
        broken(layout.JOURNAL, "the campaign was not closed: the journal is cut short")
    return story


def _take(story: Story, line: Node, event: str, contents: Contents, plan: Plan) -> None:
    if event == "start":
        attempt = line["attempt"].integer(1)
        line["attempt"].equals(len(story.runs) + 1, "the count of attempts before it")
        run = line["run"].integer(1)
        if run > len(plan.matrix):
            line["run"].refuse("not a planned run")
        story.runs[attempt] = run
        story.sessions[attempt] = story.interruptions
    elif event == "end":
        attempt = line["attempt"].integer(1)
        if attempt not in story.runs or attempt in story.statuses:
            line["attempt"].refuse("no such attempt is under way")
        line["run"].equals(story.runs[attempt], "the line that started it")
        path = layout.run_path(attempt)
        line["file"].equals(path.partition("/")[2], "the attempt's number")
        if path not in contents.files:
            broken(path, "missing, though the journal tells of its end")
        line["sha256"].equals(contents.files[path].sha256, layout.MANIFEST)
        story.statuses[attempt] = line["status"].text()
    elif event == "prepare":
        if line["arm"].text() not in plan.arms:
            line["arm"].refuse("there is no such arm")
        if story.runs:
            line.refuse("a tree was prepared after the first run")
    elif event in ("interrupted", "resume"):
        story.interruptions += 1
    elif event == "close":
        if open_ones := set(story.runs) - set(story.statuses):
            line.refuse(f"attempt {min(open_ones)} never ended")
        line["runs"].equals(len(story.runs), "the count of attempts")
        story.closed = True
    elif event == "plan":
        line.refuse("a second plan")
    else:
        line.refuse(f"an unknown event {event[:40]!a}")
