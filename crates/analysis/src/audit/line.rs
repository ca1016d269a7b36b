//! Lines that are sorted as bytes: fields with a zero byte between them, which no field has.
//!
//! A field that begins another one comes before it, so lines are in the order of their first field, then of their
//! second, and so on.

/// A line of `fields`.
pub(super) fn line<const N: usize>(fields: [&str; N]) -> Vec<u8> {
    let mut line = Vec::with_capacity(fields.iter().map(|field| field.len() + 1).sum());
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            line.push(0);
        }
        line.extend(field.bytes().map(|byte| if byte == 0 { b' ' } else { byte }));
    }
    line
}

/// The fields of a line; those that it does not have are empty.
pub(super) fn fields<const N: usize>(line: &[u8]) -> [&str; N] {
    let mut parts = line.split(|&byte| byte == 0);
    std::array::from_fn(|_| parts.next().and_then(|part| std::str::from_utf8(part).ok()).unwrap_or_default())
}

/// The first field of a line.
pub(super) fn key(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_and_order_the_lines() {
        let two = line(["a\0b", "", "ü"]);
        assert_eq!(fields::<4>(&two), ["a b", "", "ü", ""]);
        assert_eq!(key(&two), b"a b");
        assert!(line(["a", "z"]) < line(["a/b", "a"]));
        assert_eq!(fields::<1>(&[]), [""]);
    }
}
