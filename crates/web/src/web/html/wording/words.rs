//! Words that change by themselves: names of months and weekdays, and the words of times and counters, in seven
//! languages. Left out everywhere: where they mean something else, a change of that word alone is overlooked.

use super::listed::Listed;

static LISTED: Listed = Listed::of(&[&MONTHS, &WEEKDAYS, &TIMES]);

/// True if a word, in lower case and not empty, says when something was, or counts something.
pub(super) fn fades(word: &[u8]) -> bool {
    LISTED.has(word)
}

/// English, German, French, Spanish, Italian, Portuguese, Dutch; short forms too.
#[rustfmt::skip]
const MONTHS: [&[u8]; 96] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"sept", b"oct", b"nov",
    b"dec", b"january", b"february", b"march", b"april", b"june", b"july", b"august", b"september",
    b"october", b"november", b"december",
    b"januar", b"februar", b"m\xc3\xa4rz", b"mai", b"juni", b"juli", b"oktober", b"dezember", b"okt",
    b"dez", b"mrz",
    b"janvier", b"f\xc3\xa9vrier", b"mars", b"avril", b"juin", b"juillet", b"ao\xc3\xbbt", b"septembre",
    b"octobre", b"novembre", b"d\xc3\xa9cembre", b"janv", b"f\xc3\xa9vr", b"avr", b"juil", b"d\xc3\xa9c",
    b"enero", b"febrero", b"marzo", b"abril", b"mayo", b"junio", b"julio", b"agosto", b"septiembre",
    b"octubre", b"noviembre", b"diciembre", b"ene", b"abr", b"ago", b"dic",
    b"gennaio", b"febbraio", b"aprile", b"maggio", b"giugno", b"luglio", b"settembre", b"ottobre",
    b"dicembre", b"gen", b"mag", b"giu", b"lug", b"ott",
    b"janeiro", b"fevereiro", b"mar\xc3\xa7o", b"maio", b"junho", b"julho", b"setembro", b"outubro",
    b"novembro", b"dezembro",
    b"januari", b"februari", b"maart", b"mei", b"augustus",
];

#[rustfmt::skip]
const WEEKDAYS: [&[u8]; 58] = [
    b"mon", b"tue", b"tues", b"wed", b"thu", b"thur", b"thurs", b"fri", b"sat", b"sun", b"monday",
    b"tuesday", b"wednesday", b"thursday", b"friday", b"saturday", b"sunday",
    b"montag", b"dienstag", b"mittwoch", b"donnerstag", b"freitag", b"samstag", b"sonnabend", b"sonntag",
    b"lundi", b"mardi", b"mercredi", b"jeudi", b"vendredi", b"samedi", b"dimanche",
    b"lunes", b"martes", b"mi\xc3\xa9rcoles", b"jueves", b"viernes", b"s\xc3\xa1bado", b"domingo",
    b"luned\xc3\xac", b"marted\xc3\xac", b"mercoled\xc3\xac", b"gioved\xc3\xac", b"venerd\xc3\xac", b"sabato",
    b"domenica", b"segunda", b"ter\xc3\xa7a", b"quarta", b"quinta", b"sexta",
    b"maandag", b"dinsdag", b"woensdag", b"donderdag", b"vrijdag", b"zaterdag", b"zondag",
];

/// "3 minutes ago", "an hour ago", "just now", "1.2k views", "12th of ...", "10 am UTC".
#[rustfmt::skip]
const TIMES: [&[u8]; 125] = [
    b"ago", b"now", b"just", b"a", b"an", b"few", b"about", b"yesterday", b"today", b"tomorrow", b"moment",
    b"moments", b"sec", b"secs", b"second", b"seconds", b"min", b"mins", b"minute", b"minutes", b"hr",
    b"hrs", b"hour", b"hours", b"day", b"days", b"week", b"weeks", b"month", b"months", b"year",
    b"years", b"am", b"pm", b"utc", b"gmt", b"cet", b"cest", b"est", b"edt", b"pst", b"pdt", b"st",
    b"nd", b"rd", b"th", b"k", b"m", b"view", b"views",
    b"vor", b"einer", b"einem", b"gestern", b"heute", b"morgen", b"sekunde", b"sekunden", b"minuten",
    b"stunde", b"stunden", b"uhr", b"tag", b"tage", b"tagen", b"woche", b"wochen", b"monat", b"monate",
    b"monaten", b"jahr", b"jahre", b"jahren", b"aufrufe",
    b"hier", b"aujourdhui", b"demain", b"heure", b"heures", b"jour", b"jours", b"semaine", b"semaines",
    b"mois", b"an\xc3\xa9e", b"ans", b"vues", b"ayer", b"hoy", b"ma\xc3\xb1ana", b"hora", b"horas",
    b"minuto", b"minutos", b"segundos", b"d\xc3\xada", b"d\xc3\xadas", b"semana", b"semanas", b"mes",
    b"meses", b"a\xc3\xb1o", b"a\xc3\xb1os", b"hace", b"vistas",
    b"ieri", b"oggi", b"domani", b"ora", b"ore", b"minuti", b"secondi", b"giorno", b"giorni", b"fa",
    b"ontem", b"hoje", b"amanh\xc3\xa3", b"dia", b"dias", b"gisteren", b"vandaag", b"uur", b"dagen",
    b"geleden",
];
