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
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter, ValidationError

from twotrees.errors import UsageError
from twotrees.study.model import CampaignConfig, faults, field_names


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
    search = [] if own_conf is None else [f"hydra.searchpath=[file://{own_conf.resolve()}]"]
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(config_dir=str(conf), version_base="1.3"):
            composed = hydra_compose(config_name="config", overrides=[*overrides, *search])
            data: Any = OmegaConf.to_container(composed, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise explained(error, overrides, conf, own_conf) from None
    finally:
        GlobalHydra.instance().clear()
    return typed(data), data


def typed(data: Any) -> CampaignConfig:
    """Validates composed plain data.

    Raises:
        UsageError: the first fault, by its dotted key.
    """
    try:
        # Through JSON: strict validation of Python data would want dataclass instances and tuples, not dicts and lists.
        config = TypeAdapter(CampaignConfig).validate_json(json.dumps(data))
    except ValidationError as error:
        raise first_fault(error) from None
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


def explained(error: Exception, overrides: Sequence[str], conf: Path, own_conf: Path | None) -> UsageError:
    """One line for what Hydra could not compose, with the nearest name that exists."""
    for text in overrides:
        key, _, value = text.lstrip("+~").partition("=")
        choices = group_choices(key, conf, own_conf)
        if choices and value not in choices:
            return UsageError(f"there is no {key} {value!r}", file=text, mend=nearest(value, choices))
        if not choices and key in str(error):
            known = list(field_names(known_defaults(conf)))
            if key.split("@")[0] not in known:
                return UsageError(f"there is no key {key!r}", file=text, mend=nearest(key, known))
    return UsageError(re.sub(r"\s+", " ", str(error)).strip(), file="conf", mend="see conf/config.yaml for the keys")


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


def first_fault(error: ValidationError) -> UsageError:
    """One line for pydantic's first finding."""
    finding = error.errors()[0]
    key = ".".join(str(part) for part in finding["loc"])
    if finding["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        parent, _, _ = key.rpartition(".")
        name = str(finding["loc"][-1])
        siblings = siblings_of(finding["loc"][:-1])
        return UsageError(
            f"unknown key under {parent or 'the top'}", file="conf", key=key, mend=nearest(name, siblings)
        )
    if finding["type"] in ("missing", "missing_argument"):
        return UsageError("missing", file="conf", key=key, mend="set it")
    given = finding.get("input")
    what = f"{given!r} is not right: {finding['msg'][0].lower()}{finding['msg'][1:]}"
    mend = "write the number without leading zeros or quotes" if "integer" in finding["msg"] else "change it"
    return UsageError(what, file="conf", key=key, mend=mend)


def siblings_of(location: Sequence[int | str]) -> list[str]:
    """The field names that the dataclass at *location* within a campaign has."""
    current: Any = CampaignConfig
    for part in location:
        fields = getattr(current, "__pydantic_fields__", {})
        if part not in fields:
            return []
        current = fields[str(part)].annotation
    return list(getattr(current, "__pydantic_fields__", {}))
