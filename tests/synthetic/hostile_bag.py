"""Hostile bags: tag files missing, extra, exchanged or spelled in another way, and payloads that they do not cover."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable

from synthetic.corpus import KEY, Bench, Change, case, several
from synthetic.forge import armored, reseal, retag


def retold(name: str, change: Callable[[Bench], object]) -> Change:
    """Changes a tag file and has the signer sign again: the reader must refuse the form, not the hash."""

    def changed(bench: Bench) -> None:
        change(bench)
        retag(bench.bundle, KEY)

    changed.__name__ = name
    return changed


def manifest(edit: Callable[[list[str]], list[str] | str | bytes]) -> Change:
    """Rewrites the lines of the payload manifest, and signs."""

    def change(bench: Bench) -> None:
        lines = (bench.bundle / "manifest-sha256.txt").read_text().splitlines()
        made = edit(lines)
        bench.write("manifest-sha256.txt", "\n".join(made) + "\n" if isinstance(made, list) else made)
        retag(bench.bundle, KEY)

    return change


def tag_manifest(edit: Callable[[list[str]], list[str]]) -> Change:
    """Rewrites the lines of the tag manifest, and signs."""

    def change(bench: Bench) -> None:
        lines = (bench.bundle / "tagmanifest-sha256.txt").read_text().splitlines()
        bench.write("tagmanifest-sha256.txt", "\n".join(edit(lines)) + "\n")
        bench.signature.write_bytes(armored(KEY, bench.message()))

    return change


def md5_for_sha256(bench: Bench) -> None:
    """Replaces both manifests by md5 ones, as a bag may legally have."""
    for name in ("manifest", "tagmanifest"):
        lines = (bench.bundle / f"{name}-sha256.txt").read_text().splitlines()
        paths = [line[66:].replace("sha256", "md5") for line in lines]
        (bench.bundle / f"{name}-sha256.txt").unlink()
        digests = [hashlib.md5((bench.bundle / path).read_bytes()).hexdigest() for path in paths]
        text = "".join(f"{one}  {path}\n" for one, path in zip(digests, paths, strict=True))
        bench.write(f"{name}-md5.txt", text)
    message = (bench.bundle / "tagmanifest-md5.txt").read_bytes()
    bench.signature.write_bytes(armored(KEY, message))


def edited_info(old: str, new: str, count: int = 1) -> Change:
    """Rewrites part of bag-info, and signs."""
    return retold("bag_info", lambda bench: bench.edit("bag-info.txt", old, new, count))


several(
    {
        "an extra file at the root": ("README", "not one of the files", lambda b: b.write("README", "hi") and None),
        "an extra folder at the root": (
            "extra/a",
            "not one of the folders",
            lambda b: b.write("extra/a", "hi") and None,
        ),
        "an extra file in the payload": (
            "data/extra.txt",
            "not listed",
            lambda b: b.write("data/extra.txt", "") and None,
        ),
        "an extra log": ("data/logs/0099.out", "not listed", lambda b: b.write("data/logs/0099.out", "") and None),
        "a missing run": ("data/runs/0002.json", "missing", lambda b: b.run(2).unlink()),
        "a missing log": ("data/logs/0002.err", "missing", lambda b: (b.bundle / "data/logs/0002.err").unlink()),
        "a missing bagit.txt": ("bagit.txt", "missing", lambda b: (b.bundle / "bagit.txt").unlink()),
        "a missing manifest": ("manifest-sha256.txt", "missing", lambda b: (b.bundle / "manifest-sha256.txt").unlink()),
        "a missing statement": ("statement.json", "missing", lambda b: (b.bundle / "statement.json").unlink()),
        "md5 in the place of sha256": ("-md5.txt", "not one of the files", md5_for_sha256),
        "an md5 manifest beside": (
            "manifest-md5.txt",
            "not one of the files",
            lambda b: b.write("manifest-md5.txt", "") and None,
        ),
        "files to be fetched": (
            "fetch.txt",
            "not one of the files",
            lambda b: b.write("fetch.txt", "file:///etc/passwd - data/x\n") and None,
        ),
        "an empty extra folder at the root": ("extra", "empty folder", lambda b: (b.bundle / "extra").mkdir()),
        "an empty extra folder in the payload": (
            "data/extra",
            "empty folder",
            lambda b: (b.bundle / "data/extra").mkdir(),
        ),
        "a folder of empty folders": (
            "data/extra/a",
            "empty folder",
            lambda b: (b.bundle / "data/extra/a").mkdir(parents=True),
        ),
        "an empty bundle": (
            "g1_update_state",
            "empty folder",
            lambda b: (shutil.rmtree(b.bundle), b.bundle.mkdir())[1],
        ),
        "a folder in a file's place": (
            "statement.json",
            "not one of the folders",
            lambda b: ((b.bundle / "statement.json").unlink(), b.write("statement.json/a", "x"))[0],
        ),
        "an empty manifest": ("manifest-sha256.txt", "empty manifest", manifest(lambda lines: b"")),
        "a manifest with CRLF": (
            "manifest-sha256.txt",
            "carriage return",
            manifest(lambda lines: "\r\n".join(lines) + "\r\n"),
        ),
        "a manifest without its last newline": (
            "manifest-sha256.txt",
            "no newline",
            manifest(lambda lines: "\n".join(lines)),
        ),
        "a manifest line with one space": (
            "manifest-sha256.txt: line 1",
            "malformed",
            manifest(lambda lines: [lines[0].replace("  ", " "), *lines[1:]]),
        ),
        "a manifest line in binary mode": (
            "manifest-sha256.txt: line 2",
            "malformed",
            manifest(lambda lines: [lines[0], lines[1].replace("  ", " *"), *lines[2:]]),
        ),
        "a manifest line in capitals": (
            "manifest-sha256.txt: line 1",
            "malformed",
            manifest(lambda lines: [lines[0][:64].upper() + lines[0][64:], *lines[1:]]),
        ),
        "a manifest line of 63 digits": (
            "manifest-sha256.txt: line 1",
            "malformed",
            manifest(lambda lines: [lines[0][1:], *lines[1:]]),
        ),
        "a manifest line without a name": (
            "manifest-sha256.txt: line 1",
            "malformed",
            manifest(lambda lines: [lines[0][:66], *lines[1:]]),
        ),
        "a manifest line that is blank": (
            "manifest-sha256.txt: line 1",
            "malformed",
            manifest(lambda lines: ["", *lines]),
        ),
        "a manifest line that sha256sum would unescape": (
            "manifest-sha256.txt: line 1",
            "malformed",
            manifest(lambda lines: ["\\" + lines[0], *lines[1:]]),
        ),
        "a manifest with a byte order mark": (
            "manifest-sha256.txt",
            "not ASCII",
            manifest(lambda lines: "\ufeff" + "\n".join(lines) + "\n"),
        ),
        "a manifest with a duplicate line": (
            "manifest-sha256.txt: line 2",
            "duplicate",
            manifest(lambda lines: [lines[0], *lines]),
        ),
        "an unsorted manifest": (
            "manifest-sha256.txt: line 2",
            "unsorted",
            manifest(lambda lines: [lines[1], lines[0], *lines[2:]]),
        ),
        "a manifest that leaves a file out": (
            "data/aggregate.json",
            "not listed",
            manifest(lambda lines: lines[1:]),
        ),
        "a manifest that lists a tag file": (
            "manifest-sha256.txt",
            "outside data/",
            manifest(lambda lines: [f"{'0' * 64}  bagit.txt", *lines]),
        ),
        "a manifest that lists an absolute path": (
            "manifest-sha256.txt",
            "outside data/: /etc/passwd",
            manifest(lambda lines: [f"{'0' * 64}  /etc/passwd", *lines]),
        ),
        "a manifest that lists a path above": (
            "data/../../etc/passwd",
            "missing",
            manifest(lambda lines: [f"{'0' * 64}  data/../../etc/passwd", *lines]),
        ),
        "a tag manifest that lists a fifth file": (
            "tagmanifest-sha256.txt",
            "nothing else",
            tag_manifest(lambda lines: [*lines, f"{'0' * 64}  tagmanifest-sha256.txt"]),
        ),
        "a tag manifest that leaves bag-info out": (
            "tagmanifest-sha256.txt",
            "nothing else",
            tag_manifest(lambda lines: lines[1:]),
        ),
        "an older BagIt": ("bagit.txt", "BagIt 1.0", retold("", lambda b: b.edit("bagit.txt", "1.0", "0.97"))),
        "another encoding": ("bagit.txt", "BagIt 1.0", retold("", lambda b: b.edit("bagit.txt", "UTF-8", "UTF-16"))),
        "bag-info without a field": (
            "bag-info.txt",
            "is missing",
            edited_info("Twotrees-Format: twotrees-bundle-v1\n", ""),
        ),
        "bag-info with a field twice": (
            "bag-info.txt",
            "twice or out of order",
            edited_info("Twotrees-Study", "Bagging-Date: 2026-08-26\nTwotrees-Study"),
        ),
        "bag-info with the stamp of a software": (
            "bag-info.txt",
            "unknown field",
            edited_info("Payload-Oxum", "Bag-Software-Agent: bagit.py\nPayload-Oxum"),
        ),
        "bag-info with an empty value": ("bag-info.txt", "malformed", edited_info(": twotrees-bundle-v1", ": ")),
        "bag-info with a folded line": (
            "bag-info.txt",
            "malformed",
            edited_info("Payload-Oxum", "  more\nPayload-Oxum"),
        ),
        "bag-info with CRLF": ("bag-info.txt", "malformed", edited_info("\n", "\r\n")),
        "bag-info without its last newline": (
            "bag-info.txt",
            "no newline",
            retold("", lambda b: b.write("bag-info.txt", (b.bundle / "bag-info.txt").read_bytes()[:-1])),
        ),
        "bag-info that is not UTF-8": (
            "bag-info.txt",
            "not UTF-8",
            retold("", lambda b: b.write("bag-info.txt", b"Contact-Name: \xff\n")),
        ),
        "bag-info of another size": (
            "bag-info.txt: Payload-Oxum",
            "the bundle gives",
            edited_info("Oxum: ", "Oxum: 1"),
        ),
        "bag-info of another study": ("bag-info.txt", "says", edited_info("g1_update_state", "g2", 2)),
        "bag-info of another backend": ("bag-info.txt", "says", edited_info("mujoco", "mjwarp", 2)),
        "bag-info of another format": ("bag-info.txt: Twotrees-Format", "gives", edited_info("bundle-v1", "bundle-v2")),
        "bag-info of another day": (
            "bag-info.txt: Bagging-Date",
            "gives",
            edited_info("Date: 2026-08-26", "Date: 2026-08-27"),
        ),
        "bag-info of another hour": ("bag-info.txt: External-Id", "gives", edited_info("26T13:00", "26T14:00")),
        "bag-info with a time that is none": (
            "bag-info.txt: Twotrees-Cr",
            "not a time",
            edited_info("T13:00:00Z", "T25:00:00Z"),
        ),
        "bag-info with a time in another spelling": (
            "bag-info.txt: Twotrees-Cr",
            "not a time",
            edited_info("T13:00:00Z", "T13:0:00Z"),
        ),
        "a statement of another subject": (
            "statement.json",
            "not the statement",
            retold("", lambda b: b.edit("statement.json", '"sha256":"', '"sha256":"0')),
        ),
        "a statement with a claim of its own": (
            "statement.json",
            "not the statement",
            retold("", lambda b: b.edit("statement.json", '{"_type"', '{"_speedup":"9x","_type"')),
        ),
        "a statement that is not canonical": (
            "statement.json",
            "not the statement",
            retold("", lambda b: b.edit("statement.json", '{"_type":', '{"_type": ')),
        ),
        "a folder that bears another bundle's name": (
            "-00000000",
            "the folder's name",
            lambda b: b.bundle.rename(b.bundle.with_name(b.bundle.name[:-8] + "00000000")),
        ),
    }
)


@case("the tag manifest deleted and bag-info edited", "tagmanifest-sha256.txt", "missing")
def no_tag_manifest(bench: Bench) -> None:
    (bench.bundle / "tagmanifest-sha256.txt").unlink()
    bench.edit("bag-info.txt", "g1_update_state", "g1_better_state")


@case("an extra run, sealed and signed again", "data/runs/0099.json", "does not chain")
def extra_run(bench: Bench) -> None:
    shutil.copy(bench.run(3), bench.run(99))
    reseal(bench.bundle, KEY)


@case("a run left out, sealed and signed again", "data/runs/0003.json", "missing")
def missing_run(bench: Bench) -> None:
    bench.run(3).unlink()
    reseal(bench.bundle, KEY)


@case("a log left out, sealed and signed again", "data/logs/0003.out", "missing")
def missing_log(bench: Bench) -> None:
    (bench.bundle / "data/logs/0003.out").unlink()
    reseal(bench.bundle, KEY)
