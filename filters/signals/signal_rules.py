"""The rules that `SignalSettings` switches on, in their order: cheap ones first, masking last."""

from collections.abc import Callable, Iterator

from filters.signals.licenses import LicenseRule
from filters.signals.pii import PiiMasking
from filters.signals.signal_settings import SignalSettings
from filters.text import Rule

RULE_NAMES = ("license", "pii")
"""Names of these rules; no rule of a user may have one of them."""

Read = Callable[[str], bytes]
"""Returns the bytes of an object in the storage."""


def signal_rules(settings: SignalSettings, read: Read) -> tuple[Rule, ...]:
    """Return the rules. `read` is called when a rule measures its first text, so recipes need no file."""
    return tuple(_rules(settings, read))


def _rules(settings: SignalSettings, read: Read) -> Iterator[Rule]:
    if settings.licenses:
        yield LicenseRule(wanted=settings.licenses)
    if settings.mask:
        yield PiiMasking(kinds=settings.mask, regions=settings.mask_regions, key=settings.key)
