"""Plain files in, a commit out whose id is a function of their names and bytes alone, kept in a throw-away repository.

Author, committer, date and message never change, file modes come from the content, and no user configuration is read:
the same files give the same 40 digits on any machine. Overlays and wheels become trees this way.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from twotrees.errors import UsageError
from twotrees.trees import cache, git

# Changing any of these changes every pinned commit id in every study.
IDENTITY = {
    "GIT_AUTHOR_NAME": "twotrees",
    "GIT_AUTHOR_EMAIL": "twotrees@invalid",
    "GIT_AUTHOR_DATE": "946684800 +0000",
    "GIT_COMMITTER_NAME": "twotrees",
    "GIT_COMMITTER_EMAIL": "twotrees@invalid",
    "GIT_COMMITTER_DATE": "946684800 +0000",
}
MESSAGE = b"twotrees tree\n"
# A tree made of plain files holds exactly their bytes, whatever a .gitattributes among them asks for.
ATTRIBUTES = "* -text !eol -ident -filter -working-tree-encoding\n"

# What running or opening a folder leaves in it; none of it is content.
LITTER_FOLDERS = frozenset(
    {"__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"}
)
LITTER_SUFFIXES = (".pyc", ".pyo", ".nbi", ".nbc")
LITTER_NAMES = frozenset({".DS_Store", "Thumbs.db"})


def files_of(folder: Path) -> dict[str, Path]:
    """Every file of *folder* that is content, by its path inside with forward slashes.

    Raises:
        UsageError: a link, a special file, or a name that git or a bundle cannot carry.
    """
    found: dict[str, Path] = {}
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        here = Path(place)
        for name in folders:
            if (here / name).is_symlink():
                raise UsageError("is a link; a tree is made of plain files", file=here / name)
        folders[:] = sorted(name for name in folders if name not in LITTER_FOLDERS and not _is_environment(here / name))
        for name in sorted(names):
            if name in LITTER_NAMES or name == ".git" or name.endswith(LITTER_SUFFIXES):
                continue
            path = here / name
            if path.is_symlink() or not path.is_file():
                raise UsageError("is not a plain file; a tree is made of plain files", file=path)
            found[_checked_name(path.relative_to(folder).as_posix(), path)] = path
    return found


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").is_file()


def _unreadable(fault: OSError) -> None:
    raise UsageError(f"cannot be read: {fault.strerror or fault}", file=fault.filename)


def _checked_name(name: str, path: Path) -> str:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("has a name that is not UTF-8", file=repr(str(path))) from None
    if any(ord(char) < 32 or ord(char) == 127 for char in name):
        raise UsageError("has a control character in its name", file=repr(str(path)))
    return name


def compose(folders: tuple[Path, ...]) -> dict[str, Path]:
    """The files of the first folder with those of each later one laid over them.

    Raises:
        UsageError: an empty result, or a name that is a file in one folder and a folder in another.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        files |= files_of(folder)
    if not files:
        raise UsageError("holds no files", file=folders[0])
    for name in files:
        for parent in Path(name).parents:
            if parent.as_posix() in files:
                raise UsageError(
                    f"{parent.as_posix()} is a file here and a folder there", file=files[parent.as_posix()]
                )
    return files


def repository() -> Path:
    """The bare repository in the user's cache that holds every commit made here.

    Raises:
        UsageError: it cannot be made.
    """
    place = cache.cache_folder("trees") / "made.git"
    with cache.locked(place):
        if not (place / "HEAD").is_file():
            initialise(place)
        attributes = place / "info" / "attributes"
        attributes.parent.mkdir(exist_ok=True)
        if not attributes.is_file() or attributes.read_text(encoding="utf-8") != ATTRIBUTES:
            attributes.write_text(ATTRIBUTES, encoding="utf-8")
    return place


def initialise(place: Path) -> None:
    """Makes an empty bare repository without anything from the user's template."""
    arguments = ["init", "-q", "--bare", "--template=", "--object-format=sha1", "--initial-branch=main", str(place)]
    git.ask(arguments, what=f"{place.name} cannot be made in the cache")


def break_stale_locks(git_dir: Path) -> None:
    """Removes git's own lock files, which a killed git leaves; to be called under the lock of :mod:`cache` only."""
    for lock in [*git_dir.glob("*.lock"), *(git_dir / "refs").rglob("*.lock")]:
        lock.unlink(missing_ok=True)


def keep(git_dir: Path, commit: str) -> None:
    """Gives *commit* a reference of its own, so that no later fetch or clean-up loses it."""
    what = f"commit {commit} cannot be kept in the cache"
    git.ask(["update-ref", f"refs/twotrees/keep/{commit}", commit], what=what, git_dir=git_dir)


def commit_files(git_dir: Path, files: Mapping[str, Path]) -> str:
    """Writes *files* as one commit without parents.

    Args:
        git_dir: The repository.
        files: Path inside the tree -> the file with the bytes.

    Returns:
        The commit, 40 digits.

    Raises:
        UsageError: a file cannot be read, or the repository not written.
    """
    what = "the tree cannot be written into the cache"
    names = sorted(files)
    listing = b"".join(os.fsencode(files[name].absolute()) + b"\n" for name in names)
    with cache.locked(git_dir), tempfile.TemporaryDirectory(prefix="twotrees-index-") as folder:
        break_stale_locks(git_dir)
        blobs = git.ask(
            ["hash-object", "-w", "--no-filters", "--stdin-paths"],
            what=what,
            git_dir=git_dir,
            stdin=listing,
            timeout_s=git.CHECKOUT_S,
        ).split()
        entries = b"".join(
            f"{_mode(files[name])} {blob.decode()}\t{name}\0".encode() for name, blob in zip(names, blobs, strict=True)
        )
        env = git.content_environment({"GIT_INDEX_FILE": str(Path(folder) / "index"), **IDENTITY})
        git.ask(["update-index", "-z", "--index-info"], what=what, git_dir=git_dir, env=env, stdin=entries)
        tree = git.ask(["write-tree"], what=what, git_dir=git_dir, env=env).decode().strip()
        commit = git.ask(["commit-tree", tree], what=what, git_dir=git_dir, env=env, stdin=MESSAGE).decode().strip()
    keep(git_dir, commit)
    return commit


def _mode(path: Path) -> str:
    """A script keeps its x by its first two bytes: the bit on disk depends on who unpacked or cloned the folder."""
    with path.open("rb") as stream:
        return "100755" if stream.read(2) == b"#!" else "100644"
