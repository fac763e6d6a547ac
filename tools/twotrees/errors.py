"""The errors that reach a user: one type per documented exit code, each one clear line.

An error names the file and the key where the fault lies, what is wrong, and the mend. `cli.main` prints it and exits
with its code; anything else that escapes is a defect of twotrees and keeps its traceback.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_GOOD = 0
EXIT_NEGATIVE_VERDICT = 1
EXIT_USAGE = 2
EXIT_PINS_DIFFER = 3
EXIT_RUN_FAILED = 4
EXIT_BUNDLE_BROKEN = 5


class TwotreesError(Exception):
    """A foreseeable fault.

    Args:
        what: What is wrong, in one sentence without a full stop.
        file: The file (or folder, or bundle member) in which it is wrong.
        key: The key, field or line within that file.
        mend: What the user can do about it.
    """

    exit_code: ClassVar[int]

    def __init__(
        self, what: str, *, file: object | None = None, key: str | None = None, mend: str | None = None
    ) -> None:
        self.what = what
        self.file = None if file is None else str(file)
        self.key = key
        self.mend = mend
        where = ": ".join(part for part in (self.file, self.key) if part)
        line = f"{where}: {what}" if where else what
        super().__init__(f"{line}; {mend}" if mend else line)


class NegativeVerdict(TwotreesError):
    """The work was done and its answer is no: a claim contradicted, a result not reproduced, a gate missed."""

    exit_code = EXIT_NEGATIVE_VERDICT


class UsageError(TwotreesError):
    """The command line or the configuration cannot be followed."""

    exit_code = EXIT_USAGE


class PinsDiffer(TwotreesError):
    """The lock, the installed files, the checksums, the trees or the hardware are not what the study demands."""

    exit_code = EXIT_PINS_DIFFER


class RunFailed(TwotreesError):
    """A run crashed, hung, was killed, or gave a result that cannot be used."""

    exit_code = EXIT_RUN_FAILED


class BundleBroken(TwotreesError):
    """A bundle is not intact, or not signed by anybody whom the auditor trusts."""

    exit_code = EXIT_BUNDLE_BROKEN
