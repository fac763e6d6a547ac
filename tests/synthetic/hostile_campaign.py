"""Hostile campaigns: another plan, another order, a journal that tells another story, code of unknown origin."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

from synthetic.corpus import KEY, Bench, Change, case, several
from synthetic.forge import edit_json, reaggregate, rechain, reseal
from synthetic.lies import (
    JOURNAL,
    PHASE,
    PLAN,
    Json,
    drop,
    journalled,
    measured,
    payload,
    planned,
    put,
)

# --- provenance -----------------------------------------------------------------------------------------------------

MODULE = ("result", "twotrees", "provenance", 0)
TREE = "data/trees/after.json"
several(
    {
        "a run that imported nothing": ("0003.json", "imported nothing", measured(PHASE, put(*MODULE[:-1], to=[]))),
        "a run that imported from outside": (
            "0003.json",
            "outside the tree",
            measured(PHASE, put(*MODULE, "path", to="/usr/lib/g1.py")),
        ),
        "a run that imported from above": (
            "0003.json",
            "outside the tree",
            measured(PHASE, put(*MODULE, "path", to="src/../../g1.py")),
        ),
        "a run that imported other content": (
            "0003.json",
            "other content",
            measured(PHASE, put(*MODULE, "blob", to="0" * 40)),
        ),
        "a run that imported content without a digest": (
            "0003.json",
            "sha256 is missing",
            measured(PHASE, drop(*MODULE, "sha256")),
        ),
        "a run that imported a module without a name": (
            "0003.json",
            "module is missing",
            measured(PHASE, drop(*MODULE, "module")),
        ),
        "a run with another configuration": (
            "0003.json: result.twotrees.config_sha256",
            "another configuration",
            measured(PHASE, put("result", "twotrees", "config_sha256", to="0" * 64)),
        ),
        "a run with a configuration touched up": (
            "0003.json: result.twotrees.config",
            "its digest is not",
            measured(PHASE, put("result", "twotrees", "config", "sim_dt", to=0.001)),
        ),
        "a tree of another commit": (TREE, "the plan says", payload(TREE, put("commit", to="0" * 40))),
        "a tree of another content": (TREE, "the plan says", payload(TREE, put("tree", to="0" * 40))),
        "a tree of another arm": (TREE, "the file's name says", payload(TREE, put("arm", to="before"))),
        "a tree with a label that the plan hides": (
            TREE,
            "the plan does not carry",
            payload(TREE, put("labels", to=["dirty tree"])),
        ),
        "a tree that does not list what was imported": (
            TREE,
            "not what the runs say",
            payload(TREE, drop("imported", 0)),
        ),
        "a tree that lists what was not imported": (
            TREE,
            "not what the runs say",
            payload(TREE, lambda tree: tree["imported"].append({**tree["imported"][0], "path": "src/other.py"})),
        ),
        "a tree whose file is not the commit's": (
            TREE,
            "nothing says so",
            payload(TREE, put("imported", 0, "commit_blob", to="0" * 40)),
        ),
        "a tree whose file is in no commit": (
            TREE,
            "nothing says so",
            payload(TREE, put("imported", 0, "commit_blob", to=None)),
        ),
        "a tree that is missing": (TREE, "missing", lambda b: ((b.bundle / TREE).unlink(), reseal(b.bundle, KEY))[1]),
        "a configuration that is missing": (
            "data/config/after.yaml",
            "missing",
            lambda b: ((b.bundle / "data/config/after.yaml").unlink(), reseal(b.bundle, KEY))[1],
        ),
        "a configuration that is another": (
            "data/config/after.yaml",
            "does not name the digest",
            lambda b: (b.write("data/config/after.yaml", "sim_dt: 0.001\n"), reseal(b.bundle, KEY))[1],
        ),
        "a configuration whose digest is no comment": (
            "data/config/after.yaml",
            "does not name the digest",
            lambda b: (b.edit("data/config/after.yaml", "# ", "x: "), reseal(b.bundle, KEY))[1],
        ),
        "pins of another day": (
            "data/plan.json: pins.checksums_sha256",
            "CHECKSUMS says",
            lambda b: (b.write("data/pins/CHECKSUMS", "another\n"), reseal(b.bundle, KEY))[1],
        ),
        "pins that are missing": (
            "data/pins/CHECKSUMS",
            "missing",
            lambda b: ((b.bundle / "data/pins/CHECKSUMS").unlink(), reseal(b.bundle, KEY))[1],
        ),
        "a parity with a line that is neither": (
            "data/parity.json: terms[0].ok",
            "true or false is expected",
            payload("data/parity.json", put("terms", 0, "ok", to=1)),
        ),
        "a parity that holds though a line does not": (
            "data/parity.json: ok",
            "the sum of its lines",
            payload("data/parity.json", put("terms", 0, "ok", to=False)),
        ),
    }
)


# --- the plan -------------------------------------------------------------------------------------------------------


@case("a plan that was changed after it was hashed", "data/journal.jsonl: line 1", "manifest-sha256.txt says")
def plan_changed_later(bench: Bench) -> None:
    edit_json(bench.bundle / PLAN, put("title", to="another title"))
    reseal(bench.bundle, KEY)


several(
    {
        f"a plan with {what}": (f"data/plan.json{key}", words, planned(change))
        for what, key, words, change in (
            ("another format", ": schema", "the format says", put("schema", to="twotrees-plan-v2")),
            ("no study", "", "study is missing", drop("study")),
            ("a study that is no word", ": study", "not of the form", put("study", to="g1 update")),
            ("a backend that is no word", ": backend", "not of the form", put("backend", to="mu/joco")),
            ("a root of its study that is no digest", ": study_root", "not of the form", put("study_root", to="?")),
            ("no environments", ": scale.num_envs", "at least 1", put("scale", "num_envs", to=0)),
            ("no steps", ": scale.measure", "at least 1", put("scale", "measure", to=0)),
            ("a negative warm-up", ": scale.warmup", "at least 0", put("scale", "warmup", to=-1)),
            ("a seed that is no integer", ": seeds.action", "integer", put("seeds", "action", to="1")),
            ("a seed that is true", ": seeds.order", "integer", put("seeds", "order", to=True)),
            ("a script without a digest", ": scripts.x", "not of the form", put("scripts", "x", to="?")),
            (
                "a lock without a digest",
                ": pins.lock_identity",
                "not of the form",
                put("pins", "lock_identity", to="?"),
            ),
            ("statistics that are none", ": statistics", "an object is expected", put("statistics", to=[])),
            ("a protocol without a name", ": protocol", "name is missing", drop("protocol", "name")),
            ("a date that is none", ": created", "not of the form", put("created", to="yesterday")),
            ("a label that is no text", ": labels[0]", "a string is expected", put("labels", to=[7])),
            ("labels that are no list", ": labels", "a list is expected", put("labels", to="dirty")),
            ("an original that is no root", ": replicates", "not of the form", put("replicates", to="?")),
            ("one arm", "", "", lambda plan: one_arm(plan)),
            ("two arms of one name", ": arms[1].name", "two arms", put("arms", 1, "name", to="before")),
            ("an arm without a commit", ": arms[0].commit", "not of the form", put("arms", 0, "commit", to="HEAD")),
            ("an arm without a tree", ": arms[0].tree", "not of the form", put("arms", 0, "tree", to="?")),
            ("a run out of its place", ": matrix[0].run", "its place", put("matrix", 0, "run", to=2)),
            ("a run of an unknown arm", ": matrix[0].arm", "no arm", put("matrix", 0, "arm", to="next")),
            ("a run of an unknown mode", ": matrix[0].mode", "no mode", put("matrix", 0, "mode", to="fast")),
            ("a run counted twice", ": matrix[3].repeat", "count of such runs", put("matrix", 3, "repeat", to=1)),
            ("no runs", ": protocol.phase_runs", "0 runs", put("matrix", to=[])),
            ("no runs and no numbers of them", ": matrix", "no run is planned", lambda plan: no_runs(plan)),
            ("fewer runs of one arm", ": matrix", "equally many", lambda plan: plan["matrix"].pop()),
            (
                "other numbers than its protocol's",
                ": protocol.phase_runs",
                "2 runs",
                put("protocol", "phase_runs", to=3),
            ),
            (
                "an exclusion without a reason",
                ": exclusions[0]",
                "reason",
                put("exclusions", to=[{"run": 3, "reason": " "}]),
            ),
            (
                "an exclusion of no run",
                ": exclusions[0].run",
                "not a planned",
                put("exclusions", to=[{"run": 99, "reason": "x"}]),
            ),
            (
                "an exclusion told twice",
                ": exclusions[1].run",
                "twice",
                put("exclusions", to=[{"run": 3, "reason": "x"}, {"run": 3, "reason": "y"}]),
            ),
            (
                "an exclusion that the aggregate ignores",
                "",
                "",
                put("exclusions", to=[{"run": 3, "reason": "a slow run"}]),
            ),
            ("another seed", "", "", put("seeds", "action", to=1)),
            ("another order", "", "", lambda plan: swapped(plan)),
            ("a run more", "", "", lambda plan: another_repeat(plan)),
            ("a root of its study that is another", "", "", put("study_root", to="0" * 64)),
        )
        if words
    }
)


def one_arm(plan: Json) -> None:
    """Only the baseline is left."""
    plan["arms"].pop()
    plan["matrix"] = [run for run in plan["matrix"] if run["arm"] == "before"]


def no_runs(plan: Json) -> None:
    """No runs, and a protocol that says nothing of how many."""
    plan["matrix"] = []
    for key in ("phase_runs", "terms_runs"):
        del plan["protocol"][key]


def swapped(plan: Json) -> None:
    """The other arm first, planned after the runs were made in the old order."""
    for run in plan["matrix"][PHASE - 1 :]:
        run["arm"] = "after" if run["arm"] == "before" else "before"


def another_repeat(plan: Json) -> None:
    """One more phase run for each arm, planned and never made."""
    for arm in ("before", "after"):
        plan["matrix"].append({"run": len(plan["matrix"]) + 1, "arm": arm, "mode": "phase", "repeat": 3})
    plan["protocol"]["phase_runs"] = 3


several(
    {
        "a plan with one arm": ("data/plan.json: arms", "at least two", planned(one_arm)),
        "a plan with an exclusion that the aggregate ignores": (
            "data/aggregate.json",
            "runs give",
            planned(put("exclusions", to=[{"run": 3, "reason": "a slow run"}])),
        ),
        "a plan with another seed": (
            "data/runs/0001.json: argv",
            "the plan says",
            planned(put("seeds", "action", to=1)),
        ),
        "a plan with statistics that no aggregator can use": (
            "data/aggregate.json",
            "cannot be recomputed from the runs: ",
            planned(put("statistics", "confidence", to="high")),
        ),
        "a plan in another order": ("data/runs/0003.json: arm", "the plan says", planned(swapped)),
        "a plan with a run more": ("data/plan.json", "never tried", planned(another_repeat)),
        "a plan that the statement does not know": (
            "statement.json",
            "not the statement",
            planned(put("study_root", to="0" * 64)),
        ),
        "no plan": ("data/plan.json", "missing", lambda b: ((b.bundle / PLAN).unlink(), reseal(b.bundle, KEY))[1]),
        "a plan that is a list": (
            "data/plan.json",
            "an object",
            lambda b: (b.write(PLAN, "[]"), reseal(b.bundle, KEY))[1],
        ),
    }
)


# --- the journal ----------------------------------------------------------------------------------------------------


def unchained(change: Callable[[list[str]], list[str]]) -> Change:
    """Edits the journal's lines as text, without making the chain again."""

    def edit(bench: Bench) -> None:
        lines = (bench.bundle / JOURNAL).read_text().splitlines(keepends=True)
        bench.write(JOURNAL, "".join(change(lines)))
        reseal(bench.bundle, KEY)

    return edit


several(
    {
        "a journal with a line edited": (
            "data/journal.jsonl: line 4",
            "hash is not that of its content",
            unchained(lambda lines: [*lines[:3], lines[3].replace("12:00", "12:01"), *lines[4:]]),
        ),
        "a journal with a line left out": (
            "data/journal.jsonl: line 3: seq",
            "its place",
            unchained(lambda ls: ls[:2] + ls[3:]),
        ),
        "a journal with two lines exchanged": (
            "data/journal.jsonl: line 2: seq",
            "its place",
            unchained(lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]),
        ),
        "a journal with a line from another chain": (
            "data/journal.jsonl: line 2: prev",
            "the line before it",
            unchained(
                lambda lines: [
                    lines[0],
                    lines[1].replace('"prev":"', '"prev":"0')[:-1].replace('0"', '"', 1) + "\n",
                    *lines[2:],
                ]
            ),
        ),
        "a journal cut short": ("data/journal.jsonl", "cut short", unchained(lambda lines: lines[:-1])),
        "an empty journal": ("data/journal.jsonl", "cut short", unchained(lambda lines: [])),
        "a journal with a line torn": (
            "data/journal.jsonl: line 22",
            "no newline",
            unchained(lambda ls: [*ls[:-1], ls[-1][:-1]]),
        ),
        "a journal with a line that is a list": (
            "journal.jsonl: line 1",
            "an object",
            unchained(lambda lines: ["[]\n", *lines]),
        ),
        "a journal that begins with a run": (
            "data/journal.jsonl: line 1",
            "hashed after the first run",
            journalled(lambda lines: lines.insert(2, lines.pop(0))),
        ),
        "a plan hashed after the first run": (
            "data/runs/0001.json: start",
            "before the plan was hashed",
            journalled(put(0, "time", to="2026-08-26T12:30:00.000Z")),
        ),
        "a journal with a second plan": (
            "journal.jsonl: line 2",
            "second plan",
            journalled(lambda ls: ls.insert(1, dict(ls[0]))),
        ),
        "a journal with a tree prepared after the first run": (
            "journal.jsonl: line 4",
            "prepared after the first run",
            journalled(lambda lines: lines.insert(3, {"time": lines[0]["time"], "event": "prepare", "arm": "after"})),
        ),
        "a journal with an unknown tree prepared": (
            "journal.jsonl: line 2: arm",
            "no such arm",
            journalled(lambda lines: lines.insert(1, {"time": lines[0]["time"], "event": "prepare", "arm": "next"})),
        ),
        "a journal with an unknown event": (
            "journal.jsonl: line 2",
            "unknown event",
            journalled(put(1, "event", to="pause")),
        ),
        "a journal with a time that is none": (
            "line 2: time",
            "not of the form",
            journalled(put(1, "time", to="noon")),
        ),
        "a journal that goes on after its close": (
            "data/journal.jsonl: line 23",
            "after the campaign was closed",
            journalled(lambda lines: lines.append({"time": "2026-08-26T13:00:00.000Z", "event": "resume"})),
        ),
        "a journal with another count of runs": (
            "line 22: runs",
            "count of attempts",
            journalled(put(-1, "runs", to=9)),
        ),
        "a journal with an attempt that never ended": (
            "line 21",
            "never ended",
            journalled(lambda lines: lines.pop(-2)),
        ),
        "a journal with an end too many": (
            "line 4: attempt",
            "under way",
            journalled(lambda ls: ls.insert(3, dict(ls[2]))),
        ),
        "a journal with an end of no start": ("line 3: attempt", "under way", journalled(put(2, "attempt", to=7))),
        "a journal with an attempt out of its count": (
            "line 2: attempt",
            "count of attempts",
            journalled(put(1, "attempt", to=2)),
        ),
        "a journal with a run that is not planned": ("line 2: run", "not a planned", journalled(put(1, "run", to=99))),
        "a journal whose end is of another run": ("line 3: run", "started it", journalled(put(2, "run", to=2))),
        "a journal whose end is in another file": (
            "line 3: file",
            "the attempt's number",
            journalled(put(2, "file", to="runs/0002.json")),
        ),
        "no journal": (
            "data/journal.jsonl",
            "missing",
            lambda b: ((b.bundle / JOURNAL).unlink(), reseal(b.bundle, KEY))[1],
        ),
    }
)


@case("a run that the journal does not chain", "line 5: sha256", "manifest-sha256.txt says")
def run_not_chained(bench: Bench) -> None:
    edit_json(bench.run(2), put("wall_s", to=1.0))
    reseal(bench.bundle, KEY)


@case("a run of which the journal tells and which is gone", "data/runs/0010.json", "missing, though")
def run_gone(bench: Bench) -> None:
    bench.run(10).unlink()
    rechain(bench.bundle)
    reseal(bench.bundle, KEY)


def rerun(bench: Bench, *, of: int, status: str, session: bool = False) -> None:
    """Adds an eleventh attempt at a run, chained and all, behind the last or in a session of its own."""
    shutil.copy(bench.run(of), bench.run(11))
    edit_json(bench.run(11), lambda record: record.update(attempt=11))
    for stream in ("out", "err"):
        bench.write(f"data/logs/0011.{stream}", "")
    if status != "ok":
        edit_json(bench.run(of), lambda record: record.update(status=status, reason="it crashed", result=None))

    def extend(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line.get("attempt") == of and line["event"] == "end":
                line["status"] = status
        close = lines.pop()
        begun, ended = json.loads(json.dumps([line for line in lines if line.get("attempt") == of]))
        extra = [begun | {"attempt": 11}, ended | {"attempt": 11, "file": "runs/0011.json", "status": "ok"}]
        resumed = [{"time": close["time"], "event": "resume"}] if session else []
        return [*lines, *resumed, *extra, close | {"runs": 11}]

    rechain(bench.bundle, extend)
    rechain(bench.bundle)
    reaggregate(bench.bundle)
    reseal(bench.bundle, KEY)


several(
    {
        "a run measured again though it had a result": (
            "data/runs/0011.json",
            "no result may be picked",
            lambda b: rerun(b, of=10, status="ok"),
        ),
        "a run tried again out of order": (
            "data/runs/0011.json",
            "not the order of the plan",
            lambda b: rerun(b, of=4, status="failed"),
        ),
        "a failure without a reason": ("data/runs/0010.json: reason", "say why", lambda b: reasonless(b)),
        "a status that is unknown": (
            "data/runs/0010.json: status",
            "unknown status",
            lambda b: rerun(b, of=10, status="meh"),
        ),
    }
)


def reasonless(bench: Bench) -> None:
    """A failed attempt that does not say why, tried again with success."""
    rerun(bench, of=10, status="failed")
    edit_json(bench.run(10), lambda record: record.update(reason=" "))
    rechain(bench.bundle)
    reaggregate(bench.bundle)
    reseal(bench.bundle, KEY)
