"""What a bundle's data means: the chain of evidence from the plan to the aggregate, checked link by link.

In come its contents, out come the plan and what is worth telling. Hashes alone would let a signer edit a number and
sign again; here every number that is reported is made again from the samples.
"""

from __future__ import annotations

from typing import Any

from twotrees.bundle import layout
from twotrees.bundle.attempts import Facts, check_attempts
from twotrees.bundle.journal import Story, read_journal
from twotrees.bundle.plan import Plan, read_plan
from twotrees.bundle.read import Contents
from twotrees.bundle.recompute import check_aggregate
from twotrees.bundle.shape import HEX_40, HEX_64, Node
from twotrees.bundle.tags import broken


def check(contents: Contents, root: str, limits: layout.Limits) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Checks all of it.

    Returns:
        The plan, and notes for the reader.

    Raises:
        BundleBroken: naming the first file that does not hold.
    """
    check_json(contents, limits)
    plan = read_plan(contents, root)
    story = read_journal(contents, plan, limits)
    facts = check_attempts(contents, plan, story)
    check_trees(contents, plan, facts)
    check_pins(contents, plan)
    check_parity(contents)
    check_aggregate(contents)
    return plan.data, notes(plan, story, facts)


def check_json(contents: Contents, limits: layout.Limits) -> None:
    """Reads every JSON file, looked at later or not: nobody shall be able to read it another way.

    Raises:
        BundleBroken: one that readers could disagree about.
    """
    for path in contents.matching(layout.PAYLOAD, ".json"):
        contents.json(path)
    for path in contents.matching(layout.PAYLOAD, ".jsonl"):
        for _ in contents.json_lines(path, limits):
            pass


def check_trees(contents: Contents, plan: Plan, facts: Facts) -> None:
    """Each arm's tree is the planned one, and what its runs imported is what the tree's record lists.

    Raises:
        BundleBroken: a record is missing, names another commit, or does not cover what was imported.
    """
    for arm, (commit, tree) in plan.arms.items():
        path = f"data/trees/{arm}.json"
        record = Node(contents.json(path), path)
        record["arm"].equals(arm, "the file's name")
        record["commit"].equals(commit, "the plan")
        record["tree"].equals(tree, "the plan")
        for label in record["labels"].items():
            if not {label.text(), f"{arm}: {label.text()}"} & set(plan.labels):
                label.refuse("a label that the plan does not carry")
        if arm in facts.imported:
            _check_imported(record, facts.imported[arm])
        if arm in facts.config:
            _check_config(contents, arm, facts.config[arm])


def _check_config(contents: Contents, arm: str, digest: str) -> None:
    """The composed configuration lies beside, and names the digest that the runs tell. It is never loaded."""
    path = f"data/config/{arm}.yaml"
    first_line = contents.content(path).partition(b"\n")[0]
    if not first_line.startswith(b"#") or digest.encode() not in first_line:
        broken(path, "its first line does not name the digest of the configuration that the runs tell")


def _check_imported(record: Node, imported: dict[str, tuple[str, str]]) -> None:
    """The record lists exactly the imported files, and each is the commit's or is said not to be."""
    changed = {name for key in ("edits", "prepared") for name, _ in record[key].members()}
    found = {finding["path"].text() for finding in record["findings"].items()}
    listed: dict[str, tuple[str, str]] = {}
    for row in record["imported"].items():
        path, blob = row["path"].text(), row["blob"].text(HEX_40)
        listed[path] = row["sha256"].text(HEX_64), blob
        if row["commit_blob"].value != blob and path not in changed | found:
            row.refuse(f"{path[:120]!a} is not the commit's, and nothing says so")
    for path in sorted({*listed, *imported}):
        if listed.get(path) != imported.get(path):
            record["imported"].refuse(f"{path[:120]!a} is not what the runs say they imported")


def check_pins(contents: Contents, plan: Plan) -> None:
    """The pins that lie in the bundle are those that the plan names.

    Raises:
        BundleBroken: CHECKSUMS is missing or another, or lists another script than the plan.
    """
    pinned = plan.node["pins"]["checksums_sha256"]
    contents.content(layout.CHECKSUMS)
    pinned.equals(contents.files[layout.CHECKSUMS].sha256, layout.CHECKSUMS)


def check_parity(contents: Contents) -> None:
    """The overall word on parity is that of its lines.

    Raises:
        BundleBroken: it is not.
    """
    if layout.PARITY not in contents.files:
        return
    parity = Node(contents.json(layout.PARITY), layout.PARITY)
    parity["ok"].equals(all(line["ok"].flag() for line in parity["terms"].items()), "the sum of its lines")


def notes(plan: Plan, story: Story, facts: Facts) -> tuple[str, ...]:
    """What is allowed and worth telling."""
    told = [f"label: {label}" for label in plan.labels]
    told += [f"run {run} is excluded by the plan: {reason}" for run, reason in plan.excluded.items()]
    told += [f"run {run} gave no result" for run in facts.missing]
    if failed := sum(status != "ok" for status in story.statuses.values()):
        told.append(f"{failed} of {len(story.runs)} attempts gave no result and were kept")
    if story.interruptions:
        told.append(f"the campaign was interrupted or resumed {story.interruptions} times")
    if facts.without_samples:
        told.append("its profiler gave no raw samples: summaries could not be recomputed")
    return tuple(told)
