//! Texts and bodies that several pages have: lines that begin alike are next to each other.

use super::finding::{Finding, Findings, Kind};
use super::line::fields;
use crate::disk::Result;
use crate::disk::sorter::Sorter;

/// Finds them among lines of mark, text and URL.
pub(super) fn find(same: Sorter, findings: &mut Findings) -> Result<()> {
    let mut lines = same.finish()?;
    // the last line, and whether it is reported
    let mut last: Option<([String; 3], bool)> = None;
    while let Some(line) = lines.next()? {
        let [mark, text, url] = fields(line).map(str::to_owned);
        let is_same = last.as_ref().is_some_and(|(before, _)| before[..2] == [&*mark, &*text] && before[2] != url);
        if let Some((before, false)) = last.as_ref().filter(|_| is_same) {
            tell(before, findings)?;
        }
        let here = [mark, text, url];
        if is_same {
            tell(&here, findings)?;
        }
        last = Some((here, is_same));
    }
    Ok(())
}

fn tell([mark, text, url]: &[String; 3], findings: &mut Findings) -> Result<()> {
    let (kind, how) = match mark.as_str() {
        "t" => (Kind::TitleDuplicate, "title"),
        "d" => (Kind::DescriptionDuplicate, "description"),
        "h" => (Kind::H1Duplicate, "h1"),
        _ => (Kind::DuplicateContent, "body"),
    };
    let digest = format!("sha1:{text}");
    let subject = if kind == Kind::DuplicateContent { &digest } else { text };
    findings.push(&Finding::of(kind, subject, "").at(url, how, ""))
}

#[cfg(test)]
mod tests {
    use super::super::line::line;
    use super::super::spool::Spool;
    use super::*;

    #[test]
    fn what_several_pages_have_is_told_of_each_of_them() {
        let mut sorter = Sorter::new(0);
        for fields in
            [["t", "A", "1"], ["t", "A", "2"], ["t", "A", "3"], ["t", "B", "4"], ["h", "A", "1"], ["b", "X", "1"]]
        {
            sorter.push(&line(fields)).unwrap();
        }
        sorter.push(&line(["b", "X", "9"])).unwrap();
        let mut findings = Findings::new(0);
        find(sorter, &mut findings).unwrap();
        let spool = Spool::of(findings.into_sorter()).unwrap();
        let (mut lines, mut found) = (spool.read(), Vec::new());
        while let Some(line) = lines.next().unwrap() {
            let finding = Finding::of_line(line).unwrap();
            found.push(format!("{} {} {}", finding.kind.name(), finding.subject, finding.item.url));
        }
        let expected = [
            "title-duplicate A 1",
            "title-duplicate A 2",
            "title-duplicate A 3",
            "duplicate-content sha1:X 1",
            "duplicate-content sha1:X 9",
        ];
        assert_eq!(found, expected);
    }
}
