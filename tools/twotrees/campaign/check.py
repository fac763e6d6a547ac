"""`check` and `pins`: what differs from the pins, and how the toolkit's maintainers write them anew."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from rich.console import Console

from twotrees import strict_json, trees
from twotrees.campaign.before import pins_report
from twotrees.errors import EXIT_GOOD, EXIT_PINS_DIFFER, UsageError
from twotrees.pins import checksums
from twotrees.study import CampaignConfig, compose, toolkit_root

UNPINNED = "0" * 40


def show(config: CampaignConfig, base: Path, console: Console, *, as_json: bool) -> int:
    """Prints every part of the check and every difference; the exit code says whether there is one."""
    report = pins_report(config, base)
    if as_json:
        print(strict_json.dumps(report.data()), end="")
    else:
        for line in report.lines:
            console.print(line, markup=False)
    return EXIT_GOOD if report.ok else EXIT_PINS_DIFFER


def write(console: Console) -> int:
    """Pins the overlay arms of every study in `conf/` to what their folders hold now, then writes CHECKSUMS.

    Raises:
        UsageError: twotrees runs from an installed wheel, whose pins are not the user's to write.
    """
    root = toolkit_root()
    if not (root / "pyproject.toml").is_file():
        raise UsageError("only a checkout's pins can be written", file=root)
    for path in sorted((root / "conf" / "study").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        config, _ = compose([f"study={path.stem}"])
        for arm, source in config.study.trees.items():
            if source.kind != "overlay":
                continue
            commit = trees.resolve(dataclasses.replace(source, commit=None), base=root).commit
            if commit != source.commit:
                text = repinned(text, arm, commit)
                console.print(f"{path.name}: {arm} is now {commit}")
        path.write_text(text, encoding="utf-8")
    checksums.write(root)
    console.print(f"{checksums.NAME}: {len(checksums.covered(root))} files")
    return EXIT_GOOD


def repinned(text: str, arm: str, commit: str) -> str:
    """The study's YAML with one arm's commit replaced, everything else, comments too, left as it stands.

    Raises:
        UsageError: the arm has no `commit:` line.
    """
    pattern = re.compile(rf'(^  {re.escape(arm)}:\n(?:    .*\n)*?    commit: )"[^"]*"', re.MULTILINE)
    changed, count = pattern.subn(rf'\g<1>"{commit}"', text)
    if count != 1:
        raise UsageError("has no commit line to pin", key=f"study.trees.{arm}", mend=f'add commit: "{UNPINNED}"')
    return changed
