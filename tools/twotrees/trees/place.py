"""Copies one file or folder out of a wheel into the tree that a prepare command stands in.

    python -m twotrees.trees.place WHEEL MEMBER TARGET

WHEEL was fetched and hash-checked by the campaign; TARGET is relative to the current folder and must not leave it. A
file that is there already stays as it is: a release that ships an asset is measured with its own.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from twotrees.errors import TwotreesError, UsageError


def place(wheel: Path, member: str, tree: Path, target: str) -> list[str]:
    """Copies *member*, a file or a folder of *wheel*, to *target* inside *tree*.

    Returns:
        The files that were written, relative to the tree.

    Raises:
        UsageError: the wheel cannot be read or has no such member, or a file would land outside the tree.
    """
    root = tree.resolve()
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = {name: rest for name in archive.namelist() if (rest := below(name, member)) is not None}
            if not found:
                raise UsageError(f"holds no {member}", file=wheel.name, mend="name a file or a folder of it")
            written = []
            for name, rest in found.items():
                path = root / target / rest if rest else root / target
                if not path.resolve().is_relative_to(root):
                    raise UsageError(f"{target}/{rest} would land outside the tree", file=wheel.name)
                if path.exists() or name.endswith("/"):
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, path.open("xb") as stream:
                    shutil.copyfileobj(source, stream)
                written.append(path.relative_to(root).as_posix())
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"cannot be copied from: {error}", file=wheel.name) from None
    return written


def below(name: str, member: str) -> str | None:
    """The part of an archive's *name* below *member*; empty when it is the member itself, None when it is not below."""
    parts, wanted = PurePosixPath(name).parts, PurePosixPath(member).parts
    return "/".join(parts[len(wanted) :]) if parts[: len(wanted)] == wanted else None


def main(argv: Sequence[str]) -> int:
    """The command line of the module's first lines."""
    if len(argv) != 3:
        print("usage: python -m twotrees.trees.place WHEEL MEMBER TARGET", file=sys.stderr)
        return UsageError.exit_code
    try:
        written = place(Path(argv[0]), argv[1], Path.cwd(), argv[2])
    except TwotreesError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{len(written)} files placed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
