"""`threshold: calibrated`: a threshold from the file that `fieldmark calibrate measure` writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.compare.provider_lookup import with_provider_options
from fieldmark.errors import ConfigError, Location
from fieldmark.metrics.identity import canonical_sha256, described, without_paths
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import CalibratedThreshold
from fieldmark.rules.config_files import load_file, load_named
from fieldmark.rules.config_values import Context, Located

CALIBRATED: Final = "calibrated"
"""The value of a threshold that comes from a calibration."""
CALIBRATION: Final = "calibration"
"""The key with the name of the file."""
CALIBRATED_OPTIONS: Final = ("threshold", "pass_threshold")
"""The options that can be calibrated."""
_FORMAT: Final = 1
_IDENTITY: Final = ("judge", "options", "target", "threshold", "labels")
"""What determines the threshold: another value of one of these is another calibration."""


class RuleCalibration(NamedTuple):
    """A calibrated option of a strategy, its threshold and the measured comparison."""

    option: str
    threshold: CalibratedThreshold
    judge: JsonObject
    file: Located

    def check(self, strategy: object, context: Context) -> None:
        """Record a problem if the threshold was measured for another comparator or evaluator."""
        own = judge_identity(strategy)
        if own == self.judge:
            return
        was, now = self.judge["judge"], own["judge"]
        if was == now:
            before, after = (_mapping(identity["options"]) for identity in (self.judge, own))
            changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
            options = ", ".join(sorted(changed))
            message = f"{self.file.value} was measured with other options of {now}: {options}"
        else:
            message = f"{self.file.value} was measured for {was}, not for {now}"
        context.add(
            message, self.file.location, "run `fieldmark calibrate measure` with this rule again"
        )


def judge_identity(strategy: object) -> JsonObject:
    """Return the name and all options of a comparator or evaluator, except its threshold."""
    # Which field a model compares is not part of its configuration.
    named = described(with_provider_options(strategy, {"field": "", "description": ""}))
    options = _mapping(without_paths(named.get("options", {})))
    return {
        # A word of strategy files is the comparator that it stands for.
        "judge": str(getattr(strategy, "means", getattr(strategy, "name", ""))),
        "options": {
            name: value for name, value in options.items() if name not in CALIBRATED_OPTIONS
        },
    }


def read_calibration(
    options: Mapping[str, Located], known: Iterable[str], location: Location, context: Context
) -> RuleCalibration | None:
    """Read the calibration that a threshold among the options refers to, if one does."""
    names = [
        name
        for name in CALIBRATED_OPTIONS
        if name in known and name in options and options[name].value == CALIBRATED
    ]
    file = options.get(CALIBRATION)
    if not names or file is None:
        if names:
            hint = f"for example {{threshold: {CALIBRATED}, {CALIBRATION}: vendor.json}}"
            message = f"{names[0]}: {CALIBRATED} requires {CALIBRATION}, the name of a file"
            context.add(message, options[names[0]].location, hint)
        elif file is not None:
            message = f"{CALIBRATION} requires threshold: {CALIBRATED}"
            context.add(message, file.key or location)
        return None
    loaded = load_named(file, CALIBRATION, context, lambda path: _checked(load_file(path)))
    if loaded is None:
        return None
    threshold = loaded["threshold"]
    assert isinstance(threshold, int | float)  # noqa: S101 - checked when loaded
    sha256 = canonical_sha256({name: loaded.get(name) for name in _IDENTITY})
    judge: JsonObject = {"judge": loaded["judge"], "options": loaded["options"]}
    return RuleCalibration(names[0], CalibratedThreshold(threshold, sha256), judge, file)


def _checked(located: Located) -> JsonObject:
    """Return the content of a calibration file; an error says why it is none."""
    value = _mapping(located.value)
    hint = "write the file with `fieldmark calibrate measure LABELS --out FILE`"
    if value.get("format") != _FORMAT or not isinstance(value.get("judge"), str):
        raise ConfigError.of("not the result of a calibration", hint=hint)
    threshold = value.get("threshold")
    if (
        isinstance(threshold, bool)
        or not isinstance(threshold, int | float)
        or not 0 <= threshold <= 1
        or not isinstance(value.get("options"), dict)
    ):
        raise ConfigError.of("the calibration has no threshold", hint=hint)
    return value


def _mapping(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def with_calibrated_thresholds(value: JsonValue, directory: Path) -> JsonValue:
    """Return rules with the thresholds of the calibration files that they name."""
    if isinstance(value, list):
        return [with_calibrated_thresholds(inner, directory) for inner in value]
    if not isinstance(value, dict):
        return value
    settings = {name: with_calibrated_thresholds(inner, directory) for name, inner in value.items()}
    if settings.get("threshold") != CALIBRATED:
        return settings
    stored = load_file(directory / str(settings.pop(CALIBRATION))).value_of("threshold")
    return {**settings, "threshold": stored}
