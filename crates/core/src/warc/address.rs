//! Addresses in the heads of records: the URL where every reader of archives looks for it, and what was asked of it in
//! another field behind that. Read again, the two are one value, so that who reads the archive meets addresses only.

/// Fields that have addresses, and those that have their requests.
const FIELDS: [(&str, &str); 2] =
    [("WARC-Target-URI", "X-Crawler-Request"), ("WARC-Refers-To-Target-URI", "X-Crawler-Refers-To-Request")];

/// The URL of an address that is the value of the field `name`, and the field that has its request; none where it has
/// no request.
pub(super) fn parts<'a>(name: &str, value: &'a str) -> Option<(&'a str, &'static str, &'a str)> {
    let (_, request_name) = FIELDS.iter().find(|(own, _)| own.eq_ignore_ascii_case(name))?;
    let (url, request) = value.split_once('#')?;
    Some((url, request_name, request))
}

/// True if there is a request behind the URL.
pub fn has_request(address: &str) -> bool {
    memchr::memchr(b'#', address.as_bytes()).is_some()
}

/// Makes addresses of URLs and the requests behind them.
pub(super) fn join(fields: &mut Vec<(String, String)>) {
    let is_request = |name: &str, line: usize, fields: &[(String, String)]| {
        line > 0 && FIELDS.contains(&(fields[line - 1].0.as_str(), name)) && !has_request(&fields[line - 1].1)
    };
    let mut line = 1;
    while line < fields.len() {
        if is_request(&fields[line].0, line, fields) {
            let (_, request) = fields.remove(line);
            fields[line - 1].1.push_str(&format!("#{request}"));
        }
        line += 1;
    }
}
