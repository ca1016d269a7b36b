//! Buttons of consent banners that are clicked: a list of the consent platforms that most sites buy or install.
//!
//! Each has its own names for its buttons, the same on all sites, so that a selector is enough. They are compared
//! with those that DuckDuckGo's autoconsent and Consent-O-Matic (Aarhus University) know, which are far longer: banners
//! that one site has built for itself, and those in a frame of another site (Sourcepoint), are not clicked here.

use crate::contract::Consent;

/// The buttons to click for this answer, as a list of CSS selectors; empty where none is.
pub(super) fn selectors(consent: Consent) -> String {
    let of = |&(_, reject, accept): &(&str, &'static str, &'static str)| match consent {
        Consent::Off => "",
        Consent::Reject => reject,
        Consent::Accept => accept,
    };
    PLATFORMS.iter().map(of).filter(|selectors| !selectors.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Each platform with what refuses, and what accepts.
const PLATFORMS: [(&str, &str, &str); 26] = [
    ("Axeptio", "#axeptio_btn_dismiss", "#axeptio_btn_acceptAll"),
    ("Borlabs Cookie", "[data-cookie-refuse], .brlbs-btn-accept-only-essential", ".brlbs-btn-accept-all"),
    (
        "Civic Cookie Control",
        "#ccc-notify-reject, #ccc-reject-settings",
        "#ccc-notify-accept, #ccc-recommended-settings",
    ),
    ("Complianz", ".cmplz-cookiebanner .cmplz-deny", ".cmplz-cookiebanner .cmplz-accept"),
    ("consentmanager", ".cmpboxbtnno", ".cmpboxbtnyes"),
    ("Cookie Script", "#cookiescript_reject", "#cookiescript_accept"),
    (
        "Cookiebot",
        "#CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll, #CybotCookiebotDialogBodyButtonDecline",
        "#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll, #CybotCookiebotDialogBodyButtonAccept",
    ),
    ("Cookie Consent (Insites)", ".cc-window .cc-deny", ".cc-window .cc-allow"),
    ("CookieConsent (Orest Bida)", "#cc-main [data-role=necessary], #c-s-bn", "#cc-main [data-role=all], #c-p-bn"),
    ("CookieFirst", "[data-cookiefirst-action=reject]", "[data-cookiefirst-action=accept]"),
    ("Didomi", "#didomi-notice-disagree-button, .didomi-continue-without-agreeing", "#didomi-notice-agree-button"),
    ("Evidon", "#_evidon-decline-button", "#_evidon-accept-button"),
    ("Google Funding Choices", ".fc-cta-do-not-consent", ".fc-cta-consent"),
    ("HubSpot", "#hs-eu-decline-button", "#hs-eu-confirmation-button"),
    (
        "InMobi Choice",
        ".qc-cmp2-summary-buttons > [mode=secondary]:nth-of-type(2)",
        ".qc-cmp2-summary-buttons > [mode=primary]",
    ),
    ("iubenda", ".iubenda-cs-reject-btn", ".iubenda-cs-accept-btn"),
    ("Klaro", ".klaro .cn-decline", ".klaro .cm-btn-accept-all, .klaro .cookie-notice .cm-btn-success"),
    ("Moove GDPR", ".moove-gdpr-infobar-reject-btn", ".moove-gdpr-infobar-allow-all"),
    ("OneTrust", "#onetrust-reject-all-handler, .ot-pc-refuse-all-handler", "#onetrust-accept-btn-handler"),
    (
        "Osano",
        ".osano-cm-dialog .osano-cm-denyAll, .osano-cm-dialog .osano-cm-deny",
        ".osano-cm-dialog .osano-cm-accept-all",
    ),
    ("Shopify", "#shopify-pc__banner__btn-decline", "#shopify-pc__banner__btn-accept"),
    ("tarteaucitron", "#tarteaucitronAllDenied2", "#tarteaucitronPersonalize2"),
    ("Termly", "[data-tid=banner-decline]", "[data-tid=banner-accept]"),
    ("TrustArc", "#truste-consent-required", "#truste-consent-button"),
    (
        "Usercentrics",
        "[data-testid=uc-deny-all-button], button[data-action-type=deny]",
        "[data-testid=uc-accept-all-button], button[data-action-type=accept]",
    ),
    ("Wix", "[data-hook=ccsu-banner-decline-all]", "[data-hook=ccsu-banner-accept]"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_selectors_are_valid_and_each_platform_has_one_of_both_kinds() {
        for (name, reject, accept) in PLATFORMS {
            for selectors in [reject, accept] {
                assert!(scraper::Selector::parse(selectors).is_ok(), "{name}: {selectors}");
            }
        }
        assert_eq!(selectors(Consent::Off), "");
        assert!(scraper::Selector::parse(&selectors(Consent::Reject)).is_ok());
        assert_ne!(selectors(Consent::Reject), selectors(Consent::Accept));
    }
}
