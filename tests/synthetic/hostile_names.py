"""Hostile names, kinds of file, and JSON that two readers could read in two ways."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

from synthetic.corpus import KEY, Bench, Change, several
from synthetic.forge import reseal


def named(name: str | bytes) -> Change:
    """Adds a file of that name to the logs."""

    def change(bench: Bench) -> None:
        folder = os.fsencode(bench.bundle / "data" / "host")
        with open(os.path.join(folder, os.fsencode(name)), "wb") as stream:  # noqa: PTH118, PTH123
            stream.write(b"{}\n")

    return change


def to_link(bench: Bench, name: str) -> None:
    """Puts a symbolic link to an identical file in a file's place."""
    twin = bench.folder / "twin"
    shutil.copy(bench.bundle / name, twin)
    (bench.bundle / name).unlink()
    (bench.bundle / name).symlink_to(twin)


def to_linked_folder(bench: Bench) -> None:
    """Moves a folder out and links to it."""
    shutil.move(bench.bundle / "data" / "host", bench.folder / "host")
    (bench.bundle / "data" / "host").symlink_to(bench.folder / "host")


def to_hard_link(bench: Bench) -> None:
    """Gives a file a second name outside the bundle."""
    os.link(bench.bundle / "data" / "report.md", bench.folder / "elsewhere")


def to_fifo(bench: Bench) -> None:
    """Puts a FIFO in a file's place."""
    (bench.bundle / "data" / "report.md").unlink()
    os.mkfifo(bench.bundle / "data" / "report.md")


def to_socket(bench: Bench) -> None:
    """Puts a socket in a file's place; bound by a short relative name, for such names are limited."""
    (bench.bundle / "data" / "report.md").unlink()
    before = Path.cwd()
    os.chdir(bench.bundle / "data")
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("report.md")
    finally:
        os.chdir(before)


several(
    {
        "a symbolic link to an identical file": (
            "data/report.md",
            "symbolic link",
            lambda b: to_link(b, "data/report.md"),
        ),
        "a manifest that is a link": (
            "manifest-sha256.txt",
            "symbolic link",
            lambda b: to_link(b, "manifest-sha256.txt"),
        ),
        "a linked folder": ("data/host", "symbolic link", to_linked_folder),
        "a link that leads nowhere": (
            "data/host/gone",
            "symbolic link",
            lambda b: (b.bundle / "data/host/gone").symlink_to("nowhere"),
        ),
        "a hard link": ("data/report.md", "hard link", to_hard_link),
        "a FIFO": ("data/report.md", "FIFO", to_fifo),
        "a socket": ("data/report.md", "socket", to_socket),
        "a name equal but for case": ("data/host/", "equal but for case", named("Before.json")),
        "a composed letter": ("\\xe9", "characters outside", named("caf\u00e9.json")),
        "a decomposed letter": ("\\u0301", "characters outside", named("cafe\u0301.json")),
        "a device of Windows": ("data/host/CON", "device name", named("CON")),
        "a device of Windows with an extension": ("data/host/lpt1.json", "device name", named("lpt1.json")),
        "a trailing dot": ("data/host/a.", "ends with a dot", named("a.")),
        "a trailing space": ("data/host/a ", "characters outside", named("a ")),
        "a colon": ("data/host/a:b", "characters outside", named("a:b")),
        "a backslash": ("data/host/a", "characters outside", named("a\\b")),
        "a newline": ("a\\nb", "characters outside", named("a\nb")),
        "a right-to-left override": ("\\u202e", "characters outside", named("a\u202etxt.nosj")),
        "a leading dash": ("data/host/-rf", "begins with `-`", named("-rf")),
        "a name that is not UTF-8": ("\\udcff", "characters outside", named(b"a\xff")),
        "a very long name": ("data/host/aaaa", "longer than", named("a" * 250)),
        "a very deep folder": (
            "data/host/a/a/a",
            "nested deeper",
            lambda b: b.write("data/host/" + "a/" * 12 + "a", "x") and None,
        ),
        "a run file of another name": (
            "data/runs/1.json",
            "not a run file",
            lambda b: b.write("data/runs/1.json", "{}") and None,
        ),
        "a run file of attempt 0": (
            "runs/0000.json",
            "not a run file",
            lambda b: b.write("data/runs/0000.json", "") and None,
        ),
        "a run file with zeros too many": (
            "runs/00001.json",
            "not a run file",
            lambda b: b.write("data/runs/00001.json", "") and None,
        ),
        "a log of another kind": ("0001.txt", "not a log", lambda b: b.write("data/logs/0001.txt", "") and None),
    }
)


# --- JSON: its form is refused, whoever signed it --------------------------------------------------------------------


def json_text(name: str, text: str | bytes) -> Change:
    """Puts a text into a JSON file of the payload, and signs: the form is refused, not the hash."""

    def change(bench: Bench) -> None:
        bench.write(name, text)
        reseal(bench.bundle, KEY)

    return change


HOST = "data/host/before.json"
several(
    {
        "duplicate keys": (HOST, "duplicate key", json_text(HOST, '{"load": 1, "load": 2}')),
        "duplicate keys deep inside": (HOST, "duplicate key", json_text(HOST, '{"a": [{"b": 1, "b": 1}]}')),
        "NaN": (HOST, "NaN", json_text(HOST, '{"load": NaN}')),
        "Infinity": (HOST, "Infinity", json_text(HOST, '{"load": Infinity}')),
        "minus Infinity": (HOST, "-Infinity", json_text(HOST, '{"load": -Infinity}')),
        "a number that overflows": (HOST, "overflows", json_text(HOST, '{"load": 1e999}')),
        "an integer over 2^53": (HOST, "beyond 2^53", json_text(HOST, f'{{"load": {2**53 + 1}}}')),
        "an integer under -2^53": (HOST, "beyond 2^53", json_text(HOST, f'{{"load": {-(2**53) - 1}}}')),
        "an integer of 5,000 digits": (HOST, "beyond 2^53", json_text(HOST, '{"load": ' + "1" * 5000 + "}")),
        "nesting of 100,000": (HOST, "nested deeper", json_text(HOST, "[" * 100_000 + "]" * 100_000)),
        "a lone surrogate": (HOST, "surrogate", json_text(HOST, '{"name": "\\ud800"}')),
        "a lone surrogate in a key": (HOST, "surrogate", json_text(HOST, '{"\\udc00": 1}')),
        "JSON with a byte order mark": (HOST, "not JSON", json_text(HOST, "\ufeff{}")),
        "JSON that is not UTF-8": (HOST, "not UTF-8", json_text(HOST, b'{"name": "\xff"}')),
        "JSON with a second value": (HOST, "not JSON", json_text(HOST, "{} {}")),
        "JSON that is empty": (HOST, "not JSON", json_text(HOST, "")),
        "a JSON file that is too large": (
            HOST,
            "more than such a file may have",
            json_text(HOST, '{"a": "' + "x" * (17 << 20) + '"}'),
        ),
        "duplicate keys in the plan": (
            "data/plan.json",
            "duplicate key",
            lambda b: (b.edit("data/plan.json", '"labels": []', '"labels": [], "labels": []'), reseal(b.bundle, KEY))[
                1
            ],
        ),
        "duplicate keys in a line of the monitor": (
            "data/host/monitor.jsonl: line 2",
            "duplicate key",
            json_text("data/host/monitor.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n'),
        ),
        "a line of the monitor without its newline": (
            "data/host/monitor.jsonl: line 1",
            "no newline",
            json_text("data/host/monitor.jsonl", '{"a": 1}'),
        ),
        "a line of the monitor that is too long": (
            "data/host/monitor.jsonl: line 1",
            "longer than",
            json_text("data/host/monitor.jsonl", '{"a": "' + "x" * (1 << 20) + '"}\n'),
        ),
    }
)
