"""Compare e-mail addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.compare.url import is_domain, unified_host
from fieldmark.model.comparison import DIFFERENT, MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.text import unified

_MAX_LENGTH: Final = 1_000
_NAMED: Final = re.compile(r"[^<>]*<([^<>]+)>\Z")
_ADDRESS: Final = re.compile(r"(?:mailto:)?([^@\s<>,;:]+)@([^@\s<>,;:/]+)\Z")
_NOT_AN_ADDRESS: Final = Comparison.wrong_type(
    Reason.UNPARSEABLE, note="the value is not an e-mail address"
)
_NO_EXPECTED_ADDRESS: Final = Comparison.differs(
    Reason.UNPARSEABLE, note="the expected value is not an e-mail address"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Email:
    """Match equal e-mail addresses, ignoring case, a display name and `mailto:`.

    Names of domains are equal in Unicode and in ASCII form.
    """

    name: ClassVar[str] = "email"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = "case, a display name and mailto: are ignored"
    # Equal values that are not e-mail addresses do not match.
    reflexive: ClassVar[bool] = False

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match equal e-mail addresses.

        >>> Email().compare("jo@acme.org", "Jo Doe <JO@Acme.org>").matched
        True
        """
        candidate_address = _read_address(candidate)
        if candidate_address is None:
            return _NOT_AN_ADDRESS
        expected_address = _read_address(expected)
        if expected_address is None:
            return mismatch(expected, candidate, _NO_EXPECTED_ADDRESS)
        return MATCHED if expected_address == candidate_address else DIFFERENT


def _read_address(value: JsonValue) -> tuple[str, str] | None:
    """Return the local part and the domain of an address."""
    if not isinstance(value, str) or len(value) > _MAX_LENGTH:
        return None
    text = unified(value)
    with_name = _NAMED.match(text)
    address = _ADDRESS.match(text if with_name is None else with_name[1].strip())
    host = None if address is None else unified_host(address[2])
    if address is None or host is None or not is_domain(host):
        return None
    return address[1], host
