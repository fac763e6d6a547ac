"""The command line: one verb for each Nox session. Parses, calls the room, prints, and exits with a documented code.

Exit codes: 0 good, 1 negative verdict, 2 usage or configuration, 3 pins or environment differ, 4 a run failed,
5 bundle not intact, 6 intact but signed by nobody whom you list, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from twotrees import __version__
from twotrees.errors import EXIT_GOOD, NegativeVerdict, TwotreesError

if TYPE_CHECKING:
    from twotrees.campaign import Sealed

EXIT_INTERRUPTED = 130
Verb = Callable[[argparse.Namespace, Console], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; every foreseeable fault is one line on standard error and its exit code."""
    # A campaign is stopped the same way whoever asks: the terminal, a scheduler, or a time limit.
    signal.signal(signal.SIGTERM, raise_interrupt)
    args = parser().parse_args(argv)
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    try:
        verb: Verb = args.verb
        return verb(args, console)
    except TwotreesError as error:
        sys.stdout.flush()
        for line in (error, *getattr(error, "__notes__", ())):
            print(f"twotrees: {line}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("twotrees: interrupted; nothing measured is lost: `nox -s resume` finishes it", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has what it wanted; flushing at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_GOOD


def raise_interrupt(*_: object) -> NoReturn:
    """SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    """Every verb with its arguments."""
    top = argparse.ArgumentParser(
        prog="twotrees", description="Two worktrees, one honest number: measured, signed, checkable by a stranger."
    )
    top.add_argument("--version", action="version", version=f"twotrees {__version__}")
    verbs = top.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, function: Verb, help_text: str) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=help_text, description=help_text)
        sub.set_defaults(verb=function)
        return sub

    def takes_study(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides, e.g. scale=paper")
        sub.add_argument("--conf", type=Path, default=None, help="your own conf folder (default: ./conf)")

    def takes_json(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--json", action="store_true", help="print data that a program reads")

    sub = verb("check", check, "Lock, installed files, CHECKSUMS and commits are what the study pins.")
    takes_study(sub)
    takes_json(sub)
    sub = verb("fingerprint", fingerprint, "What this host is.")
    takes_json(sub)
    sub.add_argument("--identify", action="store_true", help="name the host and the user instead of hashing them")
    sub = verb("ab", ab, "Measure the study's arms and seal the bundle.")
    takes_study(sub)
    sub.add_argument("--allow-drift", action="store_true", help="run although `check` fails; labels the bundle")
    sub.add_argument("--allow-dirty", action="store_true", help="run a tree that differs from its commit; labels it")
    sub = verb("plan", plan, "Print the commands that a campaign would run, and run nothing.")
    takes_study(sub)
    takes_json(sub)
    sub = verb("calibrate", calibrate, "A against A: what this host shows where there is nothing to see.")
    takes_study(sub)
    sub.add_argument("--allow-drift", action="store_true", help="as for `ab`")
    sub = verb("resume", resume, "Finish the campaign that was interrupted.")
    sub.add_argument("work", nargs="?", type=Path, default=None, help="its folder (default: the newest)")
    sub.add_argument("--results", type=Path, default=Path("results"), help="where bundles land")
    sub = verb("clean", clean, "Remove what crashed campaigns left behind.")
    sub.add_argument("--results", type=Path, default=Path("results"), help="where bundles land")
    sub.add_argument("--unfinished", action="store_true", help="also the campaigns that could still be resumed")
    sub = verb("verify", verify, "Signature, hashes and meaning of a bundle.")
    sub.add_argument("bundle", help="a folder, a .tar, a .zip, or - for standard input")
    sub.add_argument("--allowed-signers", type=Path, default=None, help="your own trust file (OpenSSH format)")
    sub.add_argument("--revocation-list", type=Path, default=None, help="keys that no longer count")
    sub.add_argument("--identity", default=None, help="the principal who must have signed")
    sub.add_argument("--require-signers", type=int, default=1, metavar="N", help="distinct trusted keys needed")
    takes_json(sub)
    sub = verb("sign", sign, "Co-sign a bundle that you have verified.")
    sub.add_argument("bundle", type=Path)
    sub.add_argument("--key", type=Path, default=None, help="an OpenSSH key (default: git's, else twotrees' own)")
    sub = verb("audit", audit, "Do published numbers follow from each other, and were they reproduced?")
    sub.add_argument("what", nargs="+", help="BUNDLE, POST.md, or claims=NAME; a bundle beside a post compares them")
    sub.add_argument("--format", choices=("terminal", "markdown", "json", "sarif", "annotations"), default="terminal")
    sub = verb("scripts", scripts, "Cut a script out of a saved post by its published SHA-256.")
    sub.add_argument("post", type=Path)
    sub.add_argument("--sha256", required=True)
    sub.add_argument("--out", type=Path, required=True)
    sub = verb("report", report, "The tables of a bundle, in the terminal or as a page.")
    sub.add_argument("bundle", type=Path)
    sub.add_argument("--format", choices=("terminal", "markdown", "html"), default="terminal")
    sub.add_argument("--language", choices=("en", "zh"), default="en")
    sub = verb("index", index, "A page of all bundles of a folder.")
    sub.add_argument("results", nargs="?", type=Path, default=Path("results"), help="where bundles land")
    sub = verb("export", export, "A bundle's numbers in another tool's format.")
    sub.add_argument("bundle", type=Path)
    sub.add_argument("--to", required=True, metavar="FORMAT", help="pyperf, asv, csv, …; a wrong one lists them")
    sub.add_argument("--out", type=Path, required=True, help="folder that receives the files")
    sub = verb("pins", pins, "Write anew what pins this toolkit: commit ids in conf/, CHECKSUMS.")
    return top


# --- verbs: each imports its rooms when called, so that `verify` needs no simulator and starts at once -------------


def own_conf(args: argparse.Namespace) -> Path | None:
    """The user's own conf folder: the one named, else ./conf if it holds studies and is not the toolkit's."""
    from twotrees.errors import UsageError
    from twotrees.study import toolkit_root

    if args.conf is not None:
        if not args.conf.is_dir():
            raise UsageError("no such folder", file=args.conf, key="--conf")
        return Path(args.conf).resolve()
    here = Path("conf").resolve()
    return here if (here / "study").is_dir() and here != (toolkit_root() / "conf").resolve() else None


def base_of(conf: Path | None) -> Path:
    """The folder against which a study's relative paths stand."""
    from twotrees.study import toolkit_root

    return toolkit_root() if conf is None else conf.parent


def flags(args: argparse.Namespace) -> list[str]:
    """Flags that are configuration, as the overrides that they stand for."""
    names = [name for name in ("allow_drift", "allow_dirty") if getattr(args, name, False)]
    return [*args.overrides, *(f"{name}=true" for name in names)]


def ab(args: argparse.Namespace, console: Console) -> int:
    """The main job."""
    from twotrees import campaign
    from twotrees.study import compose

    conf = own_conf(args)
    config, composed = compose(flags(args), own_conf=conf)
    return told(campaign.begin(config, composed, console, base=base_of(conf)), console)


def told(sealed: Sealed, console: Console) -> int:
    """Tells where the bundle lies and how anyone verifies it; arms that are not comparable are a negative verdict."""
    shown = Path(os.path.relpath(sealed.bundle))
    console.print(f"\nbundle: {shown}")
    console.print(f"verify: nox -s verify -- {shown}")
    if sealed.void:
        raise NegativeVerdict(f"the arms are not comparable: {sealed.void}", file=shown)
    return EXIT_GOOD


def plan(args: argparse.Namespace, console: Console) -> int:
    """The dry run."""
    from twotrees import strict_json
    from twotrees.campaign import dry_run
    from twotrees.study import compose

    conf = own_conf(args)
    config, _ = compose(args.overrides, own_conf=conf)
    named = any(override.partition("=")[0] == "backend" for override in args.overrides)
    backends = () if named else config.study.backends
    configs = [compose([*args.overrides, f"backend={name}"], own_conf=conf)[0] for name in backends] or [config]
    commands = [command for one in configs for command in dry_run.commands(one, base_of(conf))]
    if args.json:
        print(strict_json.dumps(commands), end="")
    else:
        for command in commands:
            console.print(dry_run.line(command), soft_wrap=True)
    return EXIT_GOOD


def calibrate(args: argparse.Namespace, console: Console) -> int:
    """A against A."""
    from twotrees import campaign
    from twotrees.campaign import control
    from twotrees.study import compose

    conf = own_conf(args)
    _, composed = compose(flags(args), own_conf=conf)
    config, against_itself = control.against_itself(composed)
    sealed = campaign.begin(config, against_itself, console, base=base_of(conf), extra_labels=[control.LABEL])
    if not sealed.void:
        control.keep(sealed.bundle, config, console)
    return told(sealed, console)


def resume(args: argparse.Namespace, console: Console) -> int:
    """Finishes the newest, or the named, unfinished campaign."""
    from twotrees import campaign
    from twotrees.errors import UsageError
    from twotrees.runs.work import Work, unfinished

    if args.work is not None:
        work = Work(args.work.resolve())
        if not work.plan.is_file():
            raise UsageError("holds no campaign", file=args.work, mend="name a folder under results/.work")
    else:
        waiting = unfinished(args.results)
        if not waiting:
            raise UsageError("holds no unfinished campaign", file=args.results, mend="start one: nox -s ab-mujoco")
        work = Work(waiting[0].root.resolve())
    return told(campaign.resume(work, console), console)


def clean(args: argparse.Namespace, console: Console) -> int:
    """Removes leftovers; campaigns that could be resumed stay unless asked."""
    from twotrees import trees
    from twotrees.runs.work import UNFINISHED, unfinished

    for entry in trees.clean():
        console.print(f"removed worktree {entry.path}")
    keep = [] if args.unfinished else [work.root for work in unfinished(args.results)]
    folder = args.results / UNFINISHED
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path not in keep:
            from twotrees.runs.work import Work

            Work(path).remove()
            console.print(f"removed {path}")
        else:
            console.print(f"kept    {path}: `nox -s resume` finishes it, `nox -s clean -- --unfinished` removes it")
    return EXIT_GOOD


def check(args: argparse.Namespace, console: Console) -> int:
    """Prints every difference to the pins."""
    from twotrees.campaign import check as checking
    from twotrees.study import compose

    conf = own_conf(args)
    config, _ = compose(args.overrides, own_conf=conf)
    return checking.show(config, base_of(conf), console, as_json=args.json)


def fingerprint(args: argparse.Namespace, console: Console) -> int:
    """Prints the host's facts."""
    from rich.table import Table

    from twotrees import host, strict_json
    from twotrees.study import toolkit_root

    facts = host.fingerprint(identify=args.identify, repo=toolkit_root())
    if args.json:
        print(strict_json.dumps(facts), end="")
        return EXIT_GOOD
    table = Table(box=None, pad_edge=False)
    for title in ("facet", "fact", "value"):
        table.add_column(title, overflow="fold")
    for row in host.rows(facts):
        table.add_row(*row)
    console.print(table)
    return EXIT_GOOD


def verify(args: argparse.Namespace, console: Console) -> int:
    """Prints the verdict on a bundle; its exit code is the verdict's."""
    from twotrees import strict_json
    from twotrees.bundle.verify import verify as verdict_on
    from twotrees.campaign import trust

    demanded = trust.demanded(args.allowed_signers, args.revocation_list, args.identity, args.require_signers)
    verdict = verdict_on("-" if args.bundle == "-" else Path(args.bundle), demanded)
    print(strict_json.dumps(verdict.data()) if args.json else verdict.line + "\n", end="")
    return verdict.exit_code


def sign(args: argparse.Namespace, console: Console) -> int:
    """Adds one more signature."""
    from twotrees.bundle.keys import find_key
    from twotrees.bundle.sign import sign as sign_bundle

    key = find_key(args.key)
    console.print(key.announcement)
    console.print(f"signed: {sign_bundle(args.bundle, key).file}")
    return EXIT_GOOD


def audit(args: argparse.Namespace, console: Console) -> int:
    """Prints the findings; a contradiction is exit code 1."""
    from twotrees import audit as audit_room
    from twotrees.audit import verb as audit_verb

    writers = {
        "markdown": audit_room.to_markdown,
        "json": audit_room.to_json,
        "sarif": audit_room.to_sarif,
        "annotations": audit_room.to_annotations,
    }
    # What a program reads from standard output is the audit alone.
    aside = Console(stderr=True, highlight=False, soft_wrap=True)
    results = audit_verb.results(args.what, (console if args.format == "terminal" else aside).print)
    for result in results:
        if args.format == "terminal":
            audit_room.to_terminal(result, console)
        else:
            print(writers[args.format](result), end="")
    return max((result.exit_code for result in results), default=EXIT_GOOD)


def scripts(args: argparse.Namespace, console: Console) -> int:
    """Writes the block whose hash is the published one; never runs it."""
    from twotrees import audit as audit_room
    from twotrees.errors import UsageError

    try:
        data = args.post.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", file=args.post) from None
    args.out.write_bytes(audit_room.extract_script(data, args.sha256))
    console.print(f"{args.out}: SHA-256 {args.sha256}")
    return EXIT_GOOD


def report(args: argparse.Namespace, console: Console) -> int:
    """Prints a bundle's tables."""
    from twotrees import report as report_room

    data = args.bundle / "data"
    if args.format == "markdown":
        print(report_room.markdown.render(data, language=args.language), end="")
    elif args.format == "html":
        from twotrees.report import html

        print(html.render(data, language=args.language), end="")
    else:
        report_room.terminal.show(data, console)
    return EXIT_GOOD


def index(args: argparse.Namespace, console: Console) -> int:
    """Writes the page beside the bundles."""
    from twotrees.report import index as index_room

    console.print(str(index_room.write(args.results)))
    return EXIT_GOOD


def export(args: argparse.Namespace, console: Console) -> int:
    """Writes the files and tells what the other format could not take."""
    from twotrees.report import exports

    done = exports.export(args.bundle / "data", args.to, args.out)
    for path in done.files:
        console.print(str(path))
    for what in done.left_out:
        console.print(f"left out: {what}")
    return EXIT_GOOD


def pins(args: argparse.Namespace, console: Console) -> int:
    """Writes commit ids and CHECKSUMS anew."""
    from twotrees.campaign import check as checking

    return checking.write(console)


if __name__ == "__main__":
    sys.exit(main())
