"""From a command line to a typed campaign: Hydra composes, pydantic validates, every fault becomes one clear line.

Overrides are an argv list and are parsed before anything is measured; sweeps are refused, because two values of one
key would be two campaigns.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter, ValidationError

from twotrees.errors import UsageError
from twotrees.study.model import OPEN_KEYS, CampaignConfig, faults, field_names

GROUPS = ("study", "backend", "protocol", "scale", "host")
UNKNOWN_KEY = ("unexpected_keyword_argument", "extra_forbidden")  # pydantic's two names for it


def toolkit_root() -> Path:
    """The folder with `conf/`, `tools/` and `subject/`: the checkout, or the copy inside an installed wheel."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1]
    return checkout if (checkout / "conf" / "config.yaml").is_file() else package / "_toolkit"


def compose(overrides: Sequence[str], *, own_conf: Path | None = None) -> tuple[CampaignConfig, dict[str, Any]]:
    """Composes and validates one campaign.

    Args:
        overrides: Hydra overrides, each ``key=value`` as one argv token.
        own_conf: A folder shaped like `conf/` that is searched too, for studies of the user's own.

    Returns:
        The typed configuration, and the same as plain data (what is hashed and stored).

    Raises:
        UsageError: names the key, what is wrong with it, and the nearest right name.
    """
    conf = toolkit_root() / "conf"
    refuse_bad_syntax(overrides)
    search = [] if own_conf is None else [search_path(own_conf, conf)]
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(config_dir=str(conf), version_base="1.3"):
            composed = hydra_compose(config_name="config", overrides=[*overrides, *search])
            data: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    except yaml.YAMLError as error:
        raise unreadable(error) from None
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        # ValueError: Hydra's own for a group that is given a number, Python's for a file that is not UTF-8.
        raise explained(error, overrides, conf, own_conf) from None
    finally:
        GlobalHydra.instance().clear()
    return typed(data), data


def search_path(own_conf: Path, conf: Path) -> str:
    """The override that makes Hydra search the user's folder too.

    Raises:
        UsageError: there is no such folder, or a file in it would be hidden by the toolkit's file of the same name:
            the toolkit's would be measured, silently.
    """
    if not own_conf.is_dir():
        raise UsageError("no such folder", file=own_conf, mend="give the folder that holds your study/NAME.yaml")
    for path in sorted(path for group in GROUPS for path in (own_conf / group).glob("*.yaml")):
        if (conf / path.relative_to(own_conf)).exists():
            raise UsageError("the toolkit has a file of this name, which would win", file=path, mend="rename yours")
    quoted = str(own_conf.resolve()).replace("\\", "\\\\").replace("'", "\\'")
    return f"hydra.searchpath=['file://{quoted}']"


def unreadable(error: yaml.YAMLError) -> UsageError:
    """One line for a file that is not YAML, or YAML with a key twice."""
    mark = getattr(error, "problem_mark", None)
    line = None if mark is None else f"line {mark.line + 1}"
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return UsageError(f"not YAML: {what}", file="conf" if mark is None else mark.name, key=line, mend="mend the file")


def typed(data: Any) -> CampaignConfig:
    """Validates composed plain data.

    Raises:
        UsageError: the first fault, by its dotted key.
    """
    try:
        # Through JSON: strict validation of Python data would want dataclass instances and tuples, not dicts and lists.
        config = TypeAdapter(CampaignConfig).validate_json(json.dumps(data))
    except ValidationError as error:
        raise first_fault(error, data) from None
    for key, what, mend in faults(config):
        raise UsageError(what, file="conf", key=key, mend=mend)
    return config


def refuse_bad_syntax(overrides: Sequence[str]) -> None:
    """Parses every override by itself, so that the message can name it.

    Raises:
        UsageError: not an override, a sweep, or a deletion.
    """
    parser = OverridesParser.create()
    for text in overrides:
        try:
            override = parser.parse_override(text)
        except HydraException:
            raise UsageError(
                "not an override",
                file=text,
                mend="write key=value; quote a value that holds = , # or spaces: key='a=b'",
            ) from None
        if override.is_sweep_override():
            raise UsageError(
                "a sweep, which would be several campaigns",
                file=text,
                mend="give one value, or a list in brackets: key=[a,b]",
            )
        if override.is_delete():
            raise UsageError("a deletion, and no key can be done without", file=text, mend="override its value")
        key = override.key_or_group
        if not key or override.package is not None:
            raise UsageError("not an override of one key", file=text, mend="write key=value")
        if re.split(r"[./]", key)[0] == "hydra":
            raise UsageError("Hydra's own settings change nothing here", file=text, mend="leave it out")


def explained(error: Exception, overrides: Sequence[str], conf: Path, own_conf: Path | None) -> UsageError:
    """One line for what Hydra could not compose, with the nearest name that exists."""
    told = str(error)
    for text in overrides:
        key, _, value = text.lstrip("+").partition("=")
        choices = group_choices(key, conf, own_conf)
        if choices and value.strip("'\"") not in choices:
            return UsageError(f"there is no {key} {value!r}", file=text, mend=nearest(value, choices))
        if not choices and key in told:
            known = list(field_names(known_defaults(conf)))
            if key not in known:
                parent, _, name = key.rpartition(".")
                may_be_added = parent in OPEN_KEYS or name in siblings_of(parent.split("."))
                mend = f"to add it, write +{text}" if may_be_added else nearest(key, known)
                return UsageError(f"there is no key {key!r}", file=text, mend=mend)
    # Hydra adds lines about its own types below the sentence that says what is wrong.
    first = re.sub(r"\s+", " ", told.strip().partition("\n")[0]).rstrip(".")
    return UsageError(first, file="conf", mend="see conf/config.yaml for the keys")


def group_choices(group: str, conf: Path, own_conf: Path | None) -> list[str]:
    """The names that a configuration group offers; empty for a key that is no group."""
    folders = [folder / group for folder in (conf, own_conf) if folder is not None]
    return sorted({path.stem for folder in folders if folder.is_dir() for path in folder.glob("*.yaml")})


def known_defaults(conf: Path) -> Any:
    """The default composition as plain data, for its key names."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(config_dir=str(conf), version_base="1.3"):
        return OmegaConf.to_container(hydra_compose(config_name="config"), resolve=False)


def nearest(name: str, known: Sequence[str]) -> str:
    """The mend for a mistyped *name*: the closest known one, else all of them."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]}?"
    short = [item for item in known if "." not in item]
    return f"use one of: {', '.join(short or known)}"


def first_fault(error: ValidationError, data: Any) -> UsageError:
    """One line for pydantic's first finding in *data*; where several types are allowed, what each of them wants."""
    # A mistyped key is both unknown and missing; which key was written tells more.
    findings = sorted(error.errors(), key=lambda found: found["type"] not in UNKNOWN_KEY)
    finding = findings[0]
    path = key_path(finding["loc"], data)
    key = ".".join(path)
    if finding["type"] in UNKNOWN_KEY:
        parent = ".".join(path[:-1]) or "the top"
        mend = nearest(path[-1], siblings_of(path[:-1]))
        return UsageError(f"unknown key under {parent}", file="conf", key=key, mend=mend)
    if finding["type"] in ("missing", "missing_argument"):
        return UsageError("missing", file="conf", key=key, mend="set it")
    wanted = dict.fromkeys(
        f"{found['msg'][0].lower()}{found['msg'][1:]}" for found in findings if key_path(found["loc"], data) == path
    )
    what = f"{finding.get('input')!r} is not right: {' or '.join(wanted)}"
    kinds = {found["type"] for found in findings if key_path(found["loc"], data) == path}
    mend = "write the number without leading zeros or quotes" if "int_type" in kinds else "change it"
    return UsageError(what, file="conf", key=key, mend=mend)


def key_path(location: Sequence[int | str], data: Any) -> list[str]:
    """The keys of a finding's *location*; the names of the types that pydantic tried come after the value's key."""
    path: list[str] = []
    current = data
    for part in location:
        if not isinstance(current, (dict, list)) or part == "[key]":
            break
        path.append(str(part))
        if isinstance(current, dict):
            current = current.get(part)
        else:
            current = current[part] if isinstance(part, int) and part < len(current) else None
    return path


def siblings_of(path: Sequence[str]) -> list[str]:
    """The field names that the dataclass at *path* within a campaign has."""
    current: Any = CampaignConfig
    for part in path:
        fields = getattr(current, "__pydantic_fields__", None)
        if fields is not None and part in fields:
            current = fields[part].annotation
        elif get_origin(current) is dict:
            current = get_args(current)[1]
        else:
            return []
    return list(getattr(current, "__pydantic_fields__", {}))
