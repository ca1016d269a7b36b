//! The values of `hreflang`: a language, a script and a region where they are wanted, or `x-default`.
//!
//! Languages by ISO 639-1, scripts by their form (ISO 15924), regions by ISO 3166-1 alpha-2 or a number of UN M.49:
//! what search engines take. A language of three letters (ISO 639-2) passes by its form.

/// ISO 639-1.
const LANGUAGES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy \
    da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii \
    ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr \
    ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl \
    sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh \
    zu";
/// ISO 3166-1 alpha-2.
const REGIONS: &str = "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs \
    bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi \
    fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir \
    is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm \
    mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt \
    pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm \
    tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

/// Returns what is wrong with a value of `hreflang`, and `None` where it is right.
pub(super) fn fault(code: &str) -> Option<String> {
    let lower = code.trim().to_ascii_lowercase();
    if lower == "x-default" {
        return None;
    }
    if lower.is_empty() {
        return Some("it is empty".to_owned());
    }
    if lower.contains('_') {
        return Some("its parts are separated by _, not by -".to_owned());
    }
    let mut parts = lower.split('-');
    let language = parts.next().unwrap_or_default();
    if !is_language(language) {
        return Some(format!("{language:?} is no language"));
    }
    let mut rest = parts.peekable();
    rest.next_if(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_alphabetic()));
    if let Some(region) = rest.next() {
        let is_number = region.len() == 3 && region.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && !has(REGIONS, region) {
            let hint = if region == "uk" { ": the United Kingdom is gb" } else { "" };
            return Some(format!("{region:?} is no region{hint}"));
        }
    }
    rest.next().map(|part| format!("{part:?} is too much"))
}

fn is_language(language: &str) -> bool {
    let is_long = language.len() == 3 && language.bytes().all(|byte| byte.is_ascii_lowercase());
    is_long || has(LANGUAGES, language)
}

fn has(list: &str, wanted: &str) -> bool {
    list.split_ascii_whitespace().any(|found| found == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_languages_scripts_and_regions_are_right() {
        for code in
            ["de", "EN-gb", "x-default", "zh-Hant", "zh-Hant-TW", "es-419", "sr-Latn-RS", " fr ", "fil", "fil-PH"]
        {
            assert_eq!(fault(code), None, "{code}");
        }
        for (code, words) in [
            ("", "empty"),
            ("en-UK", "gb"),
            ("en_GB", "_"),
            ("xx", "language"),
            ("english", "language"),
            ("gb", "language"),
            ("de-DEU", "region"),
            ("de-AT-CH", "too much"),
            ("x-other", "language"),
        ] {
            assert!(fault(code).is_some_and(|fault| fault.contains(words)), "{code}: {:?}", fault(code));
        }
    }

    #[test]
    fn the_lists_are_whole() {
        assert_eq!(LANGUAGES.split_ascii_whitespace().count(), 184);
        assert_eq!(REGIONS.split_ascii_whitespace().count(), 249);
        assert!(LANGUAGES.split_ascii_whitespace().is_sorted() && REGIONS.split_ascii_whitespace().is_sorted());
    }
}
