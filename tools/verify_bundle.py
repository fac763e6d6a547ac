#!/usr/bin/env python3
"""Verifies a twotrees bundle with Python's standard library and ssh-keygen; one file, short enough to be read.

    python verify_bundle.py [-f ALLOWED_SIGNERS] [-r REVOKED] [-I IDENTITY] [-n SIGNERS] BUNDLE

BUNDLE is a folder, the deterministic .tar of the format, or - for that tar on standard input; unpack anything else
first. Exit status: 0 trusted; 6 intact, but signed by nobody whom ALLOWED_SIGNERS lists; 5 broken; 2 wrong use.
aggregate_update_state.py must lie beside it and makes every number again; docs/bundle.md explains the rules.
"""

# fmt: off
# ruff: noqa: D103, E401, E501, I001
import argparse, base64, hashlib, json, math, os, re, shutil, stat, struct, subprocess, sys, tempfile
from datetime import datetime
from itertools import accumulate, islice
from pathlib import Path

sys.dont_write_bytecode, sys.path[:0] = True, [str(Path(__file__).resolve().parent)]
try:
    import aggregate_update_state as aggregator
except ImportError:
    sys.exit("verify_bundle.py: aggregate_update_state.py must lie beside it")
WORD, HEX = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}"), re.compile("[0-9a-f]{64}|[0-9a-f]{40}")
PART = r"(?!(?i:con|prn|aux|nul|com\d|lpt\d)([./]|$))[A-Za-z0-9._][A-Za-z0-9._-]*(?<!\.)"
NAME, NUMBER = re.compile(rf"(?=.{{1,200}}\Z){PART}(/{PART}){{0,7}}", re.A), r"(?!0000)(?:\d{4}|[1-9]\d{4,5})"
INFO, DECLARATION, MANIFEST, STATEMENT = TAGS = "bag-info.txt", "bagit.txt", "manifest-sha256.txt", "statement.json"
PLAN, JOURNAL, AGGREGATE, ROOT = "data/plan.json", "data/journal.jsonl", "data/aggregate.json", "tagmanifest-sha256.txt"
PLACE = rf"signatures/[0-9a-f]{{16}}\.sshsig|data/runs/{NUMBER}\.json|data/logs/{NUMBER}\.(out|err)|data/(?!(runs|logs)/).*"
LINE = r'(?:"([^"]*)"|([^\s"]+))\s+((?i:cert-authority|(?:namespaces|valid-\w+)="[^"]*"|,)+\s+)?(?:ssh|ecdsa|sk)-\S+\s+[\w+/=]+(\s.*)?'
SPACE, FILES, TOTAL, CHUNK = "twotrees-bundle-v1", 20_000, 64 << 30, 1 << 20
KEPT = ((".json", 16 << 20), (".jsonl", 64 << 20), (".yaml", 16 << 20), ("CHECKSUMS", 16 << 20), (".sshsig", 64 << 10))
TIMED, MODES = ("update_state_ms", "env_step_total_ms", "reset_done_ms"), ("parity", "phase", "terms", "lockstep")
THROUGH_LIBM = ("ratio", "ratio_low", "ratio_high", "t_low", "t_high", "p", "p_holm", "order_allowance")  # the C library's
Broken, Usage = type("Broken", (Exception,), {}), type("Usage", (Exception,), {})  # whose fault: bundle, auditor
def need(good, where, what, kind=Broken):  # refuses unless *good*; a hostile name is escaped before it is printed
    if not good:
        raise kind(f"{where if where.isascii() and where.isprintable() else ascii(where)}: {what}")
def same(value, expected, where):
    need(value == expected and type(value) is type(expected), where, f"{value!a:.99}, but {expected!a:.99} is expected")
def number(text):
    value = float(text) if set(text) & set(".eENI") else int(text[:40])
    if not math.isfinite(value) or (type(value) is int and abs(value) > 2**53):
        raise ValueError("a number that readers round or refuse")
    return value
def strict_json(data, where):  # JSON that every reader reads alike; a lone surrogate cannot be encoded again
    try:
        text = data.decode("utf-8")
        brackets = re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.S)
        need(max([0, *accumulate((one in "[{") - (one in "]}") for one in brackets)]) <= 64, where, "nested deeper than 64")
        unique = lambda rows: dict(rows) if len(dict(rows)) == len(rows) else number("NaN")  # noqa: E731
        value = json.loads(text, parse_int=number, parse_float=number, parse_constant=number, object_pairs_hook=unique)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except ValueError as fault:
        raise Broken(f"{where}: not JSON that every reader reads alike, perhaps a duplicate key: {fault}") from None
def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)  # RFC 8785 for data without fractions
def folder(root):  # (name, size, pieces) of everything in a folder; no link is followed
    for path in sorted(root.rglob("*")):
        name, facts = path.relative_to(root).as_posix(), path.lstat()
        need(NAME.fullmatch(name), name, "a name that no bundle may hold")
        if stat.S_ISDIR(facts.st_mode):
            need(any(path.iterdir()), name, "an empty folder")
        else:
            need(stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1, name, "a link or a special file")
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", 0) as stream:
                yield name, facts.st_size, iter(lambda opened=stream: opened.read(CHUNK), b"")

def header(name, size):  # the ustar header of a file in the deterministic tar: mode 0644, no owner, no date
    cut = name.rfind("/", 0, 156) if len(name) > 100 else -1
    fields = [name[cut + 1:], "0000644", "0000000", "0000000", f"{size:011o}", "0" * 11, " " * 8, "0", "", "ustar", "00",
              "", "", "0000000", "0000000", name[:max(cut, 0)], ""]
    block = struct.pack("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12s", *(field.encode("latin-1") for field in fields))
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]

def tar(stream, archive):  # (name, size, pieces) of the one tar that the format gives for them; in others, two readers may see two bundles
    def take(count):
        need(len(data := stream.read(count)) == count, archive, "cut short")
        return data
    last, total = "", 512
    while (block := take(512)).strip(b"\0"):
        name = b"/".join(field.rstrip(b"\0") for field in (block[345:500], block[:100]) if field[0]).decode("latin-1")
        size, (top, _, path) = int(b"0" + re.match(b"[0-7]*", block[124:135])[0], 8), name.partition("/")
        need(block == header(name, size), f"{archive}: {name}", "not the deterministic tar; unpack it, verify the folder")
        need(name > last and top == (last or name).partition("/")[0], f"{archive}: {name}", "twice, or in another folder")
        need(NAME.fullmatch(path), path or name, "a name that no bundle may hold")
        yield path, size, (take(min(CHUNK, size - at)) for at in range(0, size, CHUNK))
        need(not take(-size % 512).strip(b"\0"), archive, "bytes hidden in the padding")
        last, total = name, total + 512 + size + -size % 512
    need(last and stream.read(10752) == bytes(512 + -(total + 512) % 10240), archive, "trailing data, or no files")

def read_all(members, private):  # path to (digest, size). Of files whose meaning is checked a copy is kept: what is judged is what was hashed
    files, folded, total = {}, {}, 0
    for path, size, pieces in members:
        need(path in (*TAGS, ROOT) or re.fullmatch(PLACE, path), path, "not one of the files or folders that a bundle has")
        for part in (path, *(path[:slash.start()] for slash in re.finditer("/", path))):
            need(folded.setdefault(part.lower(), part) == part and part not in files, path, f"equal but for case to {part}")
        cap = next((cap for end, cap in KEPT if path.endswith(end)), None if "/" in path else 8 << 20)
        total, digest, given = total + size, hashlib.sha256(), 0
        need(len(files) < FILES and total <= TOTAL and size <= (cap or TOTAL), path, "more than such a file may have")
        (private / path).parent.mkdir(parents=True, exist_ok=True)
        with (private / path if cap else Path(os.devnull)).open("wb") as copy:
            for piece in pieces:
                need((given := given + len(piece)) <= size, path, "it changed while it was read")
                digest.update(piece)
                copy.write(piece if cap else b"")
        need(given == size, path, "it changed while it was read")
        files[path] = digest.hexdigest(), size
    return files

def check_manifest(files, private, name, wanted):  # a manifest must be, byte for byte, what the files give
    need(name in files, name, "missing")
    data = (private / name).read_bytes()
    right = b"".join(b"%s  %s\n" % (files[path][0].encode(), path.encode()) for path in sorted(wanted) if path in files)
    for line in sorted(set(right.split(b"\n")) ^ set(data.split(b"\n")), key=lambda line: line[64:]):
        need(False, f"{name}: {line[66:].decode('latin-1')}", "its bytes are not those listed; missing, not listed or malformed")
    need(data == right and len(right) > 64, name, "empty, unsorted, or a line twice")

def ssh_keygen(*argv, stdin=b""):
    return subprocess.run(["ssh-keygen", *map(str, argv)], input=stdin, capture_output=True)

def wire(data, where):  # the strings of the SSH wire format, one after the other
    while data:
        need(len(data) >= 4 + (size := int.from_bytes(data[:4], "big")), where, "cut short, or bytes too many")
        yield data[4:4 + size]
        data = data[4 + size:]

def signer(file, private, args):  # (fingerprint, principal or None) of a signature; what ssh-keygen reads in more than one spelling is refused
    text, pub = (private / file).read_text("latin-1"), private / "key.pub"
    blob = base64.b64decode("".join(text.split("\n")[1:-2]), validate=True)
    body = re.sub("(.{1,70})", r"\1\n", base64.b64encode(blob).decode())
    armor = f"-----BEGIN SSH SIGNATURE-----\n{body}-----END SSH SIGNATURE-----\n"
    need(text == armor, file, "text beside the armor, a second armor, or non-canonical base64")
    key, namespace, reserved, hashed, inner = wire(blob[10:], file)
    (algorithm, value), kind = islice(wire(inner, file), 2), next(wire(key, file))
    pub.write_text(f"{kind.decode('latin-1')} {base64.b64encode(key).decode()}\n", "latin-1")
    bits, fingerprint, *_, name = ssh_keygen("-l", "-f", pub).stdout.decode().split() or ["0", "?", "?"]
    good = (blob[:10], namespace, reserved) == (b"SSHSIG\0\0\0\1", SPACE.encode(), b"") and hashed in (b"sha256", b"sha512")
    need(good, file, f"no SSHSIG of version 1, with a weak hash, or signed for {namespace!a}")
    need(re.fullmatch(r"\((ED25519|ECDSA)(-SK)?\)", name) or (name == "(RSA)" and int(bits) >= 3072), file, f"a key {bits}{name}")
    need(algorithm in {b"ssh-rsa": (b"rsa-sha2-256", b"rsa-sha2-512")}.get(kind, (kind,)), file, "another algorithm")
    reduced = "ED" not in name or int.from_bytes(value[32:], "little") < 2**252 + 27742317777372353535851937790883648493
    numbers = wire(value, file) if "EC" in name else islice(wire(key, file), 1, 3) if "RSA" in name else ()
    need(reduced and all(n[:1] and n[0] < 128 and (n[0] or n[1:2] >= b"\x80") for n in numbers), file, "a second spelling of the same key or signature: a number not reduced, or not at its shortest")
    need(file[11:27] == hashlib.sha256(key).hexdigest()[:16], file, f"the signature is of {fingerprint}")
    pub.write_text(f"x {pub.read_text()}")
    message, allowed = (private / ROOT).read_bytes(), args.allowed_signers or os.devnull
    own = (*(verify := ("-Y", "verify", "-n", SPACE, "-s", private / file)), "-f", pub, "-I", "x")
    need(ssh_keygen(*own, stdin=message).returncode == 0, file, "it does not fit the signed bytes")
    krl, asked = Path(args.revoked or os.devnull).read_bytes(), ssh_keygen("-Q", "-l", "-f", args.revoked or os.devnull)
    lines = all(re.match(rb"\s*$|\s*#|(ssh|ecdsa|sk)-\S+ +\S+", line) for line in krl.split(b"\n"))
    need(asked.returncode == 0 if krl[:6] == b"SSHKRL" else lines, str(args.revoked), "not understood", Usage)
    need(not krl or ssh_keygen(*own, "-r", args.revoked, stdin=message).returncode == 0, file, f"{fingerprint} is revoked")
    found = ssh_keygen("-Y", "find-principals", "-s", private / file, "-f", allowed)
    principal = args.identity or next((one for one in found.stdout.decode().split("\n") if one and one[0] != "!"), "-")
    asked = ssh_keygen(*verify, "-f", allowed, "-I", principal, stdin=message)
    need(not asked.returncode or not re.search(rb"expired|not yet valid", found.stderr + asked.stderr), file, "expired, or not yet valid")
    return fingerprint, principal if asked.returncode == 0 else None

def moment(text):  # a UTC time in ISO 8601, in seconds
    need(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)", text), "data", f"{text!a:.40} is no time")
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

def check_plan(plan, root):  # the plan is whole and of one mind with itself
    arms, counts = [arm["name"] for arm in plan["arms"]], {}
    digests = [arm[key] for arm in plan["arms"] for key in ("commit", "tree")] + [plan["replicates"] or "0" * 64]
    digests += [plan["study_root"], *plan["pins"].values(), *plan["scripts"].values()]
    words = (plan["study"], plan["backend"], plan["protocol"]["name"], *arms)
    need(all(map(HEX.fullmatch, digests)) and all(map(WORD.fullmatch, words)), PLAN, "a name or a digest that is none")
    naturals = [*plan["seeds"].values(), plan["scale"]["warmup"], *(plan["scale"][key] - 1 for key in ("num_envs", "measure"))]
    need(all(type(one) is int and one >= 0 for one in naturals), PLAN, "a seed or size that is no natural number")
    told = plan.get("environment") != "per-arm" or any(label.startswith("environments differ") for label in plan["labels"])
    typed = told and type(plan["labels"]) is list and all(type(one) is str for one in plan["labels"]) and plan["statistics"].keys()
    good = typed and plan["schema"] == "twotrees-plan-v1" and plan["replicates"] != root and moment(plan["created"])
    need(good and 1 < len(arms) == len({*arms}), PLAN, "not a plan, or not of two arms")
    for place, run in enumerate(plan["matrix"], start=1):
        slot = run["arm"], run["mode"]
        counts[slot] = counts.get(slot, 0) + 1
        need(slot[0] in arms and slot[1] in MODES and type(run["run"]) is int, PLAN, f"no such arm or mode: {slot!a}")
        same((run["run"], run["repeat"]), (place, counts[slot]), f"{PLAN}: matrix[{place - 1}]")
    for mode in MODES:
        numbers = {counts.get((arm, mode), 0) for arm in arms} | {plan["protocol"].get(f"{mode}_runs")} - {None}
        need(len(numbers) == 1 and counts, PLAN, f"unequal numbers of runs of mode {mode}: {numbers}")
    out = {one["run"] for one in plan["exclusions"] if one["reason"].strip() and 0 < one["run"] <= len(plan["matrix"])}
    need(len(out) == len(plan["exclusions"]), PLAN, "an exclusion without reason, of no run, or twice")

def read_journal(files, lines, plan):  # the chain from the plan to the last attempt: attempt to (run, session, status), and the plan's time
    story, previous, session, begun, closed = {}, "0" * 64, 0, 0, False
    for place, line in enumerate(lines):
        where, told, event, attempt = f"{JOURNAL}: line {place + 1}", line.pop("hash"), line["event"], line.get("attempt")
        same((line["seq"], line["prev"], closed), (place, previous, False), where)
        previous = hashlib.sha256(canonical(line).encode()).hexdigest()
        need(told == previous and moment(line["time"]), where, "its hash is not that of its content")
        need((event == "plan") == (place == 0), where, "hashed after the first run, or a second plan")
        if event == "plan":
            same(line["sha256"], files[PLAN][0], where)
            begun = moment(line["time"])
        elif event == "start":
            need(attempt == len(story) + 1 and line["run"] > 0, where, "an attempt or run out of its count")
            story[attempt] = plan["matrix"][line["run"] - 1], session, None
        elif event == "end":
            (run, began, status), path = story[attempt], f"data/runs/{attempt:04d}.json"
            told = line["run"], status, f"data/{line['file']}", line["sha256"]
            same(told, (run["run"], None, path, files.get(path, ("missing",))[0]), where)
            story[attempt] = run, began, line["status"]
        elif event == "close":
            closed = all(status for *_, status in story.values()) and line["runs"] == len(story)
        else:
            prepared = event == "prepare" and not story and line["arm"] in [arm["name"] for arm in plan["arms"]]
            need(event in ("interrupted", "resume") or prepared, where, f"an unknown event, or out of place: {event!a}")
            session += not prepared
    need(closed, JOURNAL, "cut short, another count of attempts, or one that never ended")
    return story, begun

def check_order(plan, story):  # runs come in planned order; none is tried again that had a result, none is left but of an arm that fails
    good, rounds, last = set(), {}, (0, 0)
    for attempt, (run, session, status) in story.items():
        mode = (run["mode"], run["repeat"]) if run["mode"] == "lockstep" else run["run"]
        place = min(one["run"] for one in plan["matrix"] if one is run or (one["mode"], one["repeat"]) == mode)
        mates = rounds.setdefault(mode, {})  # workers of a lockstep round count together and are tried again together
        if run["run"] in mates and {*mates.values()} != {"ok"}:
            good, mates, rounds[mode] = good - mates.keys(), (fresh := {}), fresh
        need(run["run"] not in good, f"data/runs/{attempt:04d}.json", "measured again though it had a result")
        need(session != last[0] or place >= last[1], f"data/runs/{attempt:04d}.json", "not in the order of the plan")
        mates[run["run"]], last, good = status, (session, place), good | ({run["run"]} if status == "ok" else set())
    failed = {run["arm"] for run, *_ in story.values() if run["run"] not in good}
    left = [run["run"] for run in plan["matrix"] if run["arm"] not in failed and run["run"] not in good]
    need(not left, PLAN, f"planned, but never tried: {left}")

def check_runs(files, load, plan, story, begun):  # each attempt against plan and journal; gives for each arm what was imported, and the digest of its configuration
    scale, seeds, environments, imported, configs, kinds = plan["scale"], plan["seeds"], set(), {}, {}, set()
    names = {f"data/{form.format(one)}" for one in story for form in ("runs/{:04d}.json", "logs/{:04d}.out", "logs/{:04d}.err")}
    for path in names ^ {path for path in files if path.startswith(("data/runs/", "data/logs/"))}:
        need(False, path, "missing, or an attempt that the journal does not chain")
    for attempt, (run, _, status) in story.items():
        path, ok = f"data/runs/{attempt:04d}.json", status == "ok"
        record, arm, mode = load(path), run["arm"], run["mode"]
        right = {"schema": "twotrees-run-v1", "attempt": attempt, "backend": plan["backend"], "status": status, **run}
        same({key: record[key] for key in right}, right, path)
        need(ok or (status in ("failed", "timeout", "interrupted", "invalid", "refused") and record["reason"].strip()), path, "an unknown status, or a failure without reason")
        need(not ok or (record["exit"], record["signal"]) == (0, None), path, "ok, but it did not end well")
        times = [begun, *(moment(record[when]) for when in ("start", "end") if ok or record["start"] is not None)]
        need(times == sorted(times) and all(map(str.isprintable, record["env"].values())), path, "before it began, or unprintable")
        told, shared = {record["environment"][when] for when in ("before", "after")} - (set() if ok else {None}), "shared"
        environments |= {(arm if plan.get("environment") == "per-arm" else shared, HEX.fullmatch(value)[0]) for value in told}
        need(len(environments) == len(dict(environments)), path, "other packages: it cannot be compared")
        right = {"num_envs": scale["num_envs"], "action_seed": seeds["action"], "env_seed": seeds["env"], "backend": plan["backend"]}
        right |= {key: scale[key] for key in ("warmup", "measure") if mode in ("phase", "terms")}
        right |= {"measure": plan["protocol"].get("parity_steps", record["result"]["measure"])} if ok and mode == "parity" else {}
        argv = dict(zip(record["argv"], [*record["argv"][1:], ""], strict=True))
        told = {key: argv.get(f"--{key.replace('_', '-')}", str(value)) for key, value in right.items()}
        same(told, {key: str(value) for key, value in right.items()}, f"{path}: argv")
        need("--instrument" not in argv or mode == "terms", path, "probes in a run that is not of mode terms")
        if not ok:
            continue
        result, right = record["result"], right | {"instrument": mode == "terms"}
        same({key: result[key] for key in right}, right, f"{path}: result")
        kinds.add("twotrees" in result)
        need(len(kinds) == 1 and all("median_ms" in result["timing"][name] for name in TIMED), path, "no raw samples, or no summary")
        if "twotrees" not in result:
            continue
        ours = result["twotrees"]
        check_samples(result, ours, mode, path)
        need(ours["provenance"], path, "imported nothing")
        for one in ours["provenance"]:
            content = imported.setdefault(arm, {}).setdefault(one["path"], (one["sha256"], one["blob"]))
            good = one["module"] and one["path"][0] != "/" and ".." not in one["path"].split("/") and all(map(HEX.fullmatch, content))
            need(good and content == (one["sha256"], one["blob"]), f"{path}: {one['path']}", "other content, or outside the tree")
        if ours["config"] is not None:
            told, text = ours["config_sha256"], canonical(ours["config"])
            need("${" in text or hashlib.sha256(text.encode()).hexdigest() == told, path, "config: its digest is another")
            same(configs.setdefault(arm, told), told, f"{path}: another configuration")
    return imported, configs

def check_samples(result, ours, mode, path):  # every printed summary is that of its samples; a mean and a percentile to rounding
    series, timing = dict(ours.get("samples", {})), {**result["timing"], **result["timing"]["backend"]}
    for block in ours["blocks"] if mode == "lockstep" else ():
        for name, one in block["samples"].items():
            series[name] = {"unit": one["unit"], "values": [*series.get(name, {"values": ()})["values"], *one["values"]]}
    series["reset_done_count"] = {"unit": "ms", "values": ours["workload"]["reset_counts"]}
    pairs = [(name, timing[name], series[name]) for name in {*timing, *TIMED} if name[-3:] == "_ms" or name == "reset_done_count"]
    terms, calls = (result["terms"], ours["term_samples"]) if mode == "terms" else ({}, {})
    need(terms.keys() == calls.keys(), path, "terms and term samples differ")
    for name, phases in terms.items():
        need(phases.keys() == calls[name].keys() == {"step", "reset"}, path, f"{name} lacks a phase")
        pairs += [(f"{name}.{phase}", one, calls[name][phase]) for phase, one in phases.items()]
    for name, printed, one in pairs:
        need(one["unit"] in ("ns", "ms") and all(type(v) is int or one["unit"] == "ms" for v in one["values"]), path, f"{name}: no samples")
        fault = aggregator.fault_of_series(name if name in timing else "backend_", one)
        fault = fault or aggregator.disagreement(printed, aggregator.summarise(aggregator.to_ms(one)))
        fault = fault or (name in TIMED and mode != "lockstep" and len(one["values"]) != result["measure"] and "samples left out")
        need(not fault, f"{path}: {name}", fault)
    sums = [aggregator.to_ms(calls[name]["step"]) for name in calls if name.startswith(("reward/", "termination/"))]
    for key, total in aggregator.summarise([math.fsum(step) for step in zip(*sums, strict=False)]).items() if mode == "terms" else ():
        need(math.isclose(result["term_sum_step_ms"][key], total, rel_tol=1e-12), path, f"term_sum_step_ms.{key} is not that of the terms")

def check_trees(files, load, private, plan, imported, configs):  # each arm's tree is the planned one and lists what its runs imported; its configuration lies beside
    for arm, path in ((arm, f"data/trees/{arm['name']}.json") for arm in plan["arms"]):
        tree, name = load(path), arm["name"]
        same([tree[key] for key in ("arm", "commit", "tree")], [name, arm["commit"], arm["tree"]], path)
        need(all({label, f"{name}: {label}"} & {*plan["labels"]} for label in tree["labels"]), path, "a label that the plan hides")
        told = {*tree["edits"], *tree["prepared"], *(finding["path"] for finding in tree["findings"])}
        need(all(row["blob"] == row["commit_blob"] or row["path"] in told for row in tree["imported"]), path, "not the commit's")
        rows = {row["path"]: (row["sha256"], row["blob"]) for row in tree["imported"]}
        same(rows, imported.get(name, rows), f"{path}: imported")
        config = private / f"data/config/{name}.yaml"
        line = config.read_bytes().partition(b"\n")[0] if name in configs and config.exists() else b"#"
        need(line[:1] == b"#" and configs.get(name, "").encode() in line, f"data/config/{name}.yaml", "missing, or of another digest")
    same(plan["pins"]["checksums_sha256"], files["data/pins/CHECKSUMS"][0], "data/pins/CHECKSUMS")
    for parity in [load("data/parity.json")] if "data/parity.json" in files else ():
        same(parity["ok"], all(line["ok"] is True for line in parity["terms"]), "data/parity.json")

def check_tags(files, private, plan):  # bag-info and statement are, byte for byte, what the rest gives; returns the bundle's name without its root
    text, sizes = (private / INFO).read_bytes().decode("utf-8"), [facts[1] for path, facts in files.items() if path[:5] == "data/"]
    given, study, backend = dict(re.findall("^([^:\n]+): (.*)$", text, re.M)), plan["study"], plan["backend"]
    created, who = given["Twotrees-Created"], ("Source-Organization", "Contact-Name", "Contact-Email", "External-Description")
    stamp = f"{datetime.strptime(created, '%Y-%m-%dT%H:%M:%SZ'):%Y%m%dT%H%M%SZ}"
    right = {key: given[key] for key in who if key in given and given[key].isprintable() and given[key].strip() == given[key] != ""}
    right |= {"Bagging-Date": created[:10], "External-Identifier": f"{study}-{backend}-{stamp}", "Payload-Oxum": f"{sum(sizes)}.{len(sizes)}",
              "Twotrees-Format": SPACE, "Twotrees-Study": study, "Twotrees-Backend": backend, "Twotrees-Created": created}
    need(text == "".join(f"{key}: {value}\n" for key, value in right.items()) and len(created) == 20, INFO, "not what the bundle gives")
    predicate = {key: plan[key] for key in ("study", "study_root", "backend", "labels", "replicates")}
    predicate |= {f"{path[5:].split('.')[0]}_sha256": files[path][0] for path in (PLAN, JOURNAL, AGGREGATE)}
    predicate["arms"] = [{key: arm[key] for key in ("name", "commit", "tree")} for arm in plan["arms"]]
    predicate |= {"format": SPACE, "created": created, "attempts": sum(path[:10] == "data/runs/" for path in files)}
    statement = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:twotrees:predicate:bundle:v1", "predicate": predicate}
    statement["subject"] = [{"name": MANIFEST, "digest": {"sha256": files[MANIFEST][0]}}]
    need((private / STATEMENT).read_bytes() == canonical(statement).encode(), STATEMENT, "not the statement that the bundle gives")
    return f"{study}-{backend}-{stamp}"

def differs(claimed, made, key=""):  # whether two aggregates differ: to the last bit, but for what goes through the C library's log and exp
    if type(made) is type(claimed) is dict:
        return made.keys() != claimed.keys() or any(differs(claimed[key], made[key], key) for key in made)
    if type(made) is type(claimed) is list:
        return len(made) != len(claimed) or any(map(differs, claimed, made))
    near = key in THROUGH_LIBM and type(made) is float and math.isclose(claimed, made, rel_tol=1e-9)
    return type(claimed) is not type(made) or (claimed != made and not near)

def check_lists(args):  # the auditor's own lists are there, understood, not the bundle's, and nobody in them vouches for every name
    for path in filter(None, (args.allowed_signers, args.revoked)):
        inside = Path(args.bundle).is_dir() and Path(path).resolve().is_relative_to(Path(args.bundle).resolve())
        need(Path(path).is_file() and not inside, path, "cannot be read, or comes from the bundle itself", Usage)
    for place, line in enumerate(Path(args.allowed_signers or os.devnull).read_text("utf-8").split("\n"), start=1):
        match = re.fullmatch(LINE, line.strip() if line.strip()[:1] not in ("", "#") else "x ssh-none x")
        names = (match[1] or match[2]).split(",") if match else ["*"]
        need(all(name.strip("*?") for name in names), f"{args.allowed_signers}: line {place}", "not understood, or it vouches for every name", Usage)
    need(args.signers >= 1 and shutil.which("ssh-keygen"), "-n", "at least 1 signer must be required, and ssh-keygen", Usage)

def verdict(args, private):  # (word, exit status) of a bundle, or an exception
    check_lists(args)
    given = Path(args.bundle).resolve()
    need(args.bundle == "-" or given.exists(), args.bundle, "no such bundle", Usage)
    with sys.stdin.buffer if args.bundle == "-" else Path(os.devnull if given.is_dir() else given).open("rb") as stream:
        files = read_all(folder(given) if given.is_dir() else tar(stream, args.bundle), private)
    check_manifest(files, private, ROOT, TAGS)
    check_manifest(files, private, MANIFEST, [path for path in files if path[:5] == "data/"])
    need(files[DECLARATION][0] == hashlib.sha256(b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n").hexdigest(), DECLARATION, "not BagIt 1.0")
    signatures, root = [path for path in files if path[:11] == "signatures/"], files[ROOT][0]
    need(0 < len(signatures) <= 64, "signatures", "no signature, or too many")
    signers = [signer(path, private, args) for path in sorted(signatures)]
    def load(path):
        need(path in files, path, "missing")
        data = (private / path).read_bytes()
        if path.endswith(".json"):
            return strict_json(data, path)
        need(data[-1:] == b"\n" and max(map(len, data.split(b"\n"))) < CHUNK, path, "no newline at the end, or a line too long")
        return [strict_json(row, f"{path}: line {place}") for place, row in enumerate(data[:-1].split(b"\n"), start=1)]
    [load(path) for path in files if path.endswith((".json", ".jsonl"))]
    plan = load(PLAN)
    check_plan(plan, root)
    story, begun = read_journal(files, load(JOURNAL), plan)
    check_order(plan, story)
    check_trees(files, load, private, plan, *check_runs(files, load, plan, story, begun))
    name, claimed = f"{check_tags(files, private, plan)}-{root[:8]}", load(AGGREGATE)
    add = {"plain": aggregator.plain_sum, "compensated": aggregator.compensated_sum}[claimed["twotrees"]["summation"]]
    made = json.loads(json.dumps(aggregator.aggregate(aggregator.read_campaign(private / "data", add))))
    need(not differs(claimed, made), AGGREGATE, "it is not what the runs give")
    alike = re.fullmatch(r"[\w.-]+-\d{8}T\d{6}Z-[0-9a-f]{8}", given.name, re.A) and given.name != name
    need(not alike, given.name, f"its name is not the bundle's, {name}")
    unknown, trusted = [key for key, who in signers if not who], {key for key, who in signers if who}
    need(unknown or len(trusted) >= args.signers, "signatures", f"{len(trusted)} of {args.signers} required signers")
    return ("trusted", 0) if len(trusted) >= args.signers else (f"intact, unknown signer {unknown[0]}", 6)

def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, dest, default in (("-f", "allowed_signers", None), ("-r", "revoked", None), ("-I", "identity", None), ("-n", "signers", 1)):
        parser.add_argument(flag, dest=dest, default=default, type=type(default or ""))
    parser.add_argument("bundle")
    try:
        with tempfile.TemporaryDirectory(prefix="verify-bundle-") as private:
            word, status = verdict(parser.parse_args(argv), Path(private))
    except Exception as fault:  # not one of ours: something is missing or of another kind than it must be; hostile, no crash
        kind = "" if isinstance(fault, Broken) else f"{type(fault).__name__}: "
        word, status = (str(fault), 2) if isinstance(fault, Usage) else (f"broken: {kind}{fault}", 5)
    print(word if word.isprintable() else ascii(word))
    return status

if __name__ == "__main__":
    sys.exit(main())
