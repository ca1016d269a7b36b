//! Words of dates, and of the parts of a page that have them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Bytes of the longest name of a month, and more.
const WORD_BYTES_MAX: usize = 32;

/// Names of months and their abbreviations in lower case, an entry for each month: English, German, French, Spanish,
/// Italian, Portuguese, Dutch, Swedish, Danish, Norwegian, Icelandic, Finnish, Polish, Czech, Slovak, Croatian,
/// Hungarian, Romanian, Turkish, Indonesian, Catalan, Estonian, Latvian, Lithuanian, Russian, Ukrainian, Bulgarian,
/// Greek, Arabic. A name that two languages have for two months is the one that more people mean.
const MONTHS: [&str; 12] = [
    "january jan januar jänner jän jaenner janvier janv enero ene gennaio gen janeiro januari tammikuuta tammikuu \
     stycznia styczeń sty ledna leden siječnja január jan ianuarie ian ocak oca januára gener jaanuar janvāris \
     sausio января январь янв січня січень януари ιανουαρίου ιανουάριος ιαν janúar يناير",
    "february feb februar feber février fevrier févr fév fevr febrero febbraio fevereiro fev februari helmikuuta \
     helmikuu lutego luty lut února únor veljače február febr februarie şubat şub februára febrer veebruar februāris \
     vasario февраля февраль фев лютого лютий февруари φεβρουαρίου φεβρουάριος φεβ febrúar pebruari فبراير",
    "march mar märz mär maerz mrz mars marzo março marco maart mrt maaliskuuta maaliskuu marca marzec března březen \
     ožujka március márc martie mart març märts marts kovo марта март мар березня березень μαρτίου μάρτιος μαρ \
     maret مارس",
    "april apr avril avr abril abr aprile huhtikuuta huhtikuu kwietnia kwiecień kwi dubna duben travnja április \
     ápr aprilie nisan nis apríla aprill aprīlis balandžio апреля апрель апр квітня квітень април απριλίου απρίλιος \
     απρ apríl أبريل",
    "may mai mayo maggio mag maio mei maj toukokuuta toukokuu maja května květen svibnja május máj mayıs mája maig \
     maijs gegužės мая май травня травень μαΐου μαίου μάιος μαΐ maí مايو",
    "june jun juni juin junio giugno giu junho kesäkuuta kesäkuu czerwca czerwiec cze června červen lipnja június jún \
     iunie haziran haz júna juny juuni jūnijs birželio июня июнь июн червня червень юни ιουνίου ιούνιος ιουν júní \
     يونيو",
    "july jul juli juillet juil julio luglio lug julho heinäkuuta heinäkuu lipca lipiec lip července červenec srpnja \
     július júl iulie temmuz tem júla juliol juuli jūlijs liepos июля июль июл липня липень юли ιουλίου ιούλιος ιουλ \
     júlí يوليو",
    "august aug août aout agosto ago augustus augusti elokuuta elokuu sierpnia sierpień sie srpna srpen kolovoza \
     augusztus ağustos ağu augusta agost augusts rugpjūčio августа август авг серпня серпень αυγούστου αύγουστος αυγ \
     ágúst agustus agt أغسطس",
    "september sep sept septembre septiembre setiembre settembre set setembro septembris syyskuuta syyskuu września \
     wrzesień wrz září rujna szeptember szept septembrie eylül eyl septembra setembre rugsėjo сентября сентябрь сен \
     сент вересня вересень септември σεπτεμβρίου σεπτέμβριος σεπ سبتمبر",
    "october oct oktober okt octobre octubre ottobre ott outubro out lokakuuta lokakuu października październik paź \
     října říjen október octombrie ekim eki októbra octubre oktoober oktobris spalio октября октябрь окт \
     жовтня жовтень октомври οκτωβρίου οκτώβριος οκτ أكتوبر",
    "november nov novembre noviembre novembro marraskuuta marraskuu listopad lis studenog studenoga noiembrie kasım \
     kas novembra novembris lapkričio ноября ноябрь ноя нояб листопада листопад ноември νοεμβρίου νοέμβριος νοε \
     nóvember نوفمبر",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro desember des joulukuuta joulukuu \
     grudnia grudzień gru prosince prosinec prosinca decembrie aralık ara decembra desembre detsember decembris \
     gruodžio декабря декабрь дек грудня грудень декември δεκεμβρίου δεκέμβριος δεκ ديسمبر",
];

/// Words between the parts of a date.
#[rustfmt::skip]
const FILLERS: [&str; 27] = [
    "st", "nd", "rd", "th", "er", "of", "de", "del", "des", "do", "den", "di", "d", "e", "º", "ª", "г", "year", "the",
    "年", "月", "년", "월", "tháng", "năm", "m", "ve",
];

/// The months by their names.
static BY_NAME: LazyLock<HashMap<&str, i8>> = LazyLock::new(|| {
    let names = |(month, names): (i8, &'static &str)| names.split_whitespace().map(move |name| (name, month));
    (1..).zip(&MONTHS).flat_map(names).collect()
});

/// The number of the month that is called so.
pub(super) fn month_of(name: &str) -> Option<i8> {
    if name.len() > WORD_BYTES_MAX {
        return None;
    }
    BY_NAME.get(name.to_lowercase().as_str()).copied()
}

/// True for a word that may be between two parts of a date.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.iter().any(|filler| word.eq_ignore_ascii_case(filler))
}

/// Names of meta elements and of properties, in letters and digits alone, that say when a page was published.
#[rustfmt::skip]
const PUBLISHED: [&str; 53] = [
    "articlepublished", "articlepublishedtime", "articlepublicationdate", "articledatepublished",
    "articledateoriginal", "articleorigdate", "articlecreated", "articlepubdate", "bepresscitationdate",
    "bepresscitationonlinedate", "citationdate", "citationonlinedate", "citationpublicationdate", "created",
    "createdate", "creationdate", "cxenseparserecspublishtime", "datecreated", "dateissued", "dateposted",
    "datepublished", "dccreated", "dcdatecreated", "dcdateissued", "dcdatepublished", "dcissued", "dctermscreated",
    "dctermsissued", "dctermsdateissued", "displaydate", "eprintsdate", "firstpublished", "issued",
    "ogarticlepublishedtime", "ogpubdate", "ogpublishedtime", "ogregdate", "originalpublicationdate",
    "parselypubdate", "postdate", "prismpublicationdate", "pubdate", "publicationdate", "publishdate", "published",
    "publishedat", "publisheddate", "publishtime", "releasedate", "rnewsdatepublished", "sailthrudate", "uploaddate",
    "vrpublishedtime",
];
/// The same for a date without a word for what it is of.
const DATED: [&str; 9] = [
    "articledate",
    "date",
    "dcdate",
    "dctermsdate",
    "dctermsavailable",
    "pagedate",
    "pdate",
    "ptime",
    "videoreleasedate",
];
/// The same for the last change.
#[rustfmt::skip]
const MODIFIED: [&str; 26] = [
    "articlemodified", "articlemodifiedtime", "articleupdatedtime", "articleupdated", "datemodified", "dateupdated",
    "dcdatemodified", "dcdateupdated", "dcmodified", "dctermsmodified", "dctermsdatemodified", "lastmod",
    "lastmodified", "lastmodifieddate", "lastupdate", "lastupdated", "moddate", "modificationdate", "modified",
    "modifieddate", "ogmodifiedtime", "ogupdatedtime", "revised", "revisiondate", "updated", "updatedtime",
];

/// A kind of date that a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Published,
    Dated,
    Modified,
}

impl Says {
    /// The kind that the name of a meta element or of a property says.
    pub(super) fn of_name(name: &str) -> Option<Says> {
        if name.len() > 64 {
            return None;
        }
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        let lists: [(&[&str], Says); 3] =
            [(&PUBLISHED, Says::Published), (&DATED, Says::Dated), (&MODIFIED, Says::Modified)];
        lists.into_iter().find(|(names, _)| names.contains(&plain.as_str())).map(|(_, says)| says)
    }

    /// The kind that a class or an identifier says.
    pub(super) fn of_class(name: &str) -> Option<Says> {
        let of = |names: &[&str], says| is_one_of(names, name).then_some(says);
        of(&PUBLISHED_CLASSES, Says::Published).or_else(|| of(&MODIFIED_CLASSES, Says::Modified))
    }

    /// The kind that the text in front of a date says.
    pub(super) fn of_label(label: &str) -> Option<Says> {
        let of = |names: &[&str], says| is_one_of(names, label).then_some(says);
        of(&MODIFIED_LABELS, Says::Modified).or_else(|| of(&PUBLISHED_LABELS, Says::Published))
    }
}

/// Parts of classes of a published date.
#[rustfmt::skip]
const PUBLISHED_CLASSES: [&str; 10] = [
    "publish", "pubdate", "posted", "entry-date", "entry_date", "post-date", "post_date", "article-date",
    "article_date", "dateline",
];
/// Parts of classes of the date of a change.
const MODIFIED_CLASSES: [&str; 3] = ["updated", "modified", "lastmod"];
/// Parts of classes of dates and of notes that have one.
pub(super) const WEAK: [&str; 8] = ["date", "time", "meta", "byline", "submitted", "datum", "fecha", "info"];
/// Parts of classes of what is not the text of the page.
pub(super) const ASIDE: [&str; 5] = ["comment", "sidebar", "footer", "related", "widget"];
/// Words in front of a published date.
#[rustfmt::skip]
const PUBLISHED_LABELS: [&str; 11] = [
    "publish", "posted", "veröffentlicht", "erstellt", "publié", "publicado", "pubblicat", "geplaatst", "opublikowan",
    "опубликовано", "created",
];
/// Words in front of the date of a change.
#[rustfmt::skip]
const MODIFIED_LABELS: [&str; 10] = [
    "updated", "modified", "aktualisiert", "geändert", "mis à jour", "actualizado", "aggiornat", "bijgewerkt",
    "обновлено", "stand:",
];

/// True if one of `parts` is in a text, in small or capital letters.
pub(super) fn is_one_of(parts: &[&str], text: &str) -> bool {
    let text = text.to_lowercase();
    parts.iter().any(|part| text.contains(part))
}
