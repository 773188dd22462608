"""`CONSENT_RULES`: how the banners of the usual consent products are answered.

A rule names a product, the element that is its banner, and the buttons by what they say: `reject` what is not needed,
`close` without an answer, `accept`. The first button that a banner shows and that may be clicked is clicked, in this
order. The names of elements are those that the products give them. Where a rule has no button, and for banners of no
product that we know, the words of the buttons decide.
"""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRule:
    """One product. All values but the name are CSS selectors."""

    name: str
    banner: str
    reject: str = ""
    close: str = ""
    accept: str = ""


CONSENT_RULES = (
    ConsentRule(
        name="onetrust",
        banner="#onetrust-banner-sdk",
        reject="#onetrust-reject-all-handler, .ot-pc-refuse-all-handler",
        close="#onetrust-close-btn-container button",
        accept="#onetrust-accept-btn-handler",
    ),
    ConsentRule(
        name="cookiebot",
        banner="#CybotCookiebotDialog",
        reject="#CybotCookiebotDialogBodyButtonDecline, #CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll",
        accept="#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll, #CybotCookiebotDialogBodyButtonAccept",
    ),
    ConsentRule(
        name="didomi",
        banner="#didomi-notice, #didomi-popup",
        reject="#didomi-notice-disagree-button, .didomi-continue-without-agreeing",
        accept="#didomi-notice-agree-button",
    ),
    ConsentRule(
        name="usercentrics",
        banner="[data-testid=uc-default-wall], [data-testid=uc-default-banner], #uc-banner-modal",
        reject="[data-testid=uc-deny-all-button], #uc-btn-deny-banner",
        accept="[data-testid=uc-accept-all-button], #uc-btn-accept-banner",
    ),
    ConsentRule(
        name="quantcast",
        banner="#qc-cmp2-ui",
        reject="#disagree-btn",
        accept="#accept-btn",
    ),
    ConsentRule(
        name="trustarc",
        banner="#truste-consent-track",
        reject="#truste-consent-required",
        accept="#truste-consent-button",
    ),
    ConsentRule(
        name="osano",
        banner=".osano-cm-dialog",
        reject=".osano-cm-denyAll, .osano-cm-deny",
        close=".osano-cm-dialog__close",
        accept=".osano-cm-accept-all, .osano-cm-accept",
    ),
    ConsentRule(
        name="klaro",
        banner=".klaro .cookie-notice, .klaro .cookie-modal",
        reject=".cn-decline, .cm-btn-decline",
        accept=".cm-btn-success",
    ),
    ConsentRule(
        name="complianz",
        banner=".cmplz-cookiebanner",
        reject=".cmplz-deny",
        close=".cmplz-close",
        accept=".cmplz-accept",
    ),
    ConsentRule(
        name="cookieyes",
        banner=".cky-consent-container",
        reject=".cky-btn-reject",
        close=".cky-banner-btn-close",
        accept=".cky-btn-accept",
    ),
    ConsentRule(
        name="cookie-law-info",
        banner="#cookie-law-info-bar",
        reject="#cookie_action_close_header_reject",
        accept="#cookie_action_close_header, #wt-cli-accept-all-btn",
    ),
    ConsentRule(
        name="borlabs",
        banner="#BorlabsCookieBox",
        reject="[data-cookie-refuse], .brlbs-btn-accept-only-essential",
        accept="[data-cookie-accept-all], .brlbs-btn-accept-all",
    ),
    ConsentRule(
        name="cookieconsent",
        banner=".cc-window",
        reject=".cc-deny",
        close=".cc-close",
        accept=".cc-allow, .cc-dismiss",
    ),
    ConsentRule(
        name="vanilla-cookieconsent",
        banner="#cc-main .cm, #cm",
        reject="[data-role=necessary], #c-s-bn[data-role=necessary], #s-rall-bn",
        accept="[data-role=all], #c-p-bn, #s-all-bn",
    ),
    ConsentRule(
        name="tarteaucitron",
        banner="#tarteaucitronAlertBig",
        reject="#tarteaucitronAllDenied2",
        close="#tarteaucitronCloseCross",
        accept="#tarteaucitronPersonalize2",
    ),
    ConsentRule(
        name="iubenda",
        banner="#iubenda-cs-banner",
        reject=".iubenda-cs-reject-btn",
        close=".iubenda-cs-close-btn",
        accept=".iubenda-cs-accept-btn",
    ),
    ConsentRule(
        name="termly",
        banner="[data-tid=banner-wrapper], #termly-code-snippet-support",
        reject="[data-tid=banner-decline]",
        accept="[data-tid=banner-accept]",
    ),
    ConsentRule(
        name="cookiefirst",
        banner=".cookiefirst-root",
        reject="[data-cookiefirst-action=reject]",
        accept="[data-cookiefirst-action=accept]",
    ),
    ConsentRule(
        name="cookie-script",
        banner="#cookiescript_injected",
        reject="#cookiescript_reject",
        close="#cookiescript_close",
        accept="#cookiescript_accept",
    ),
    ConsentRule(
        name="civic",
        banner="#ccc",
        reject="#ccc-notify-reject, #ccc-reject-settings",
        close="#ccc-notify-dismiss, #ccc-close",
        accept="#ccc-notify-accept, #ccc-recommended-settings",
    ),
    ConsentRule(
        name="drupal",
        banner="#sliding-popup",
        reject=".decline-button",
        close=".eu-cookie-compliance-close-button",
        accept=".agree-button",
    ),
    ConsentRule(
        name="cookie-notice",
        banner="#cookie-notice",
        reject="#cn-refuse-cookie",
        close="#cn-close-notice",
        accept="#cn-accept-cookie",
    ),
    ConsentRule(
        name="consentmanager",
        banner="#cmpbox",
        reject=".cmpboxbtnno",
        close=".cmpboxbtnclose",
        accept=".cmpboxbtnyes",
    ),
    ConsentRule(
        name="hubspot",
        banner="#hs-eu-cookie-confirmation",
        reject="#hs-eu-decline-button",
        close="#hs-eu-close-button",
        accept="#hs-eu-confirmation-button",
    ),
    ConsentRule(
        name="funding-choices",
        banner=".fc-consent-root",
        reject=".fc-cta-do-not-consent",
        accept=".fc-cta-consent",
    ),
    ConsentRule(
        name="shopify",
        banner="#shopify-pc__banner",
        reject="#shopify-pc__banner__btn-decline",
        accept="#shopify-pc__banner__btn-accept",
    ),
)
RULES_VALUE = [asdict(rule) for rule in CONSENT_RULES]
"""The rules as a value for a call into the page."""
