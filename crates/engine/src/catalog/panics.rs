//! Panics of sled, taken as errors: what they said, and no word of them on the screen.
//!
//! A library that panics inside a call that is guarded has told its caller; a message on standard error, with the
//! advice to print a backtrace, would say it a second time, and as if this program had a bug.

use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

/// The beginning of the names of sled's own threads. Their panics reach the caller as errors.
const THREADS: &str = "sled-io-";

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does `act`; where that panics, gives what was said. The panics of everything else are told as before.
pub(super) fn quietly<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let of_sled = thread::current().name().is_some_and(|name| name.starts_with(THREADS));
            if !of_sled && !QUIET.get() {
                told(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    QUIET.set(before);
    done.map_err(|said| {
        let words = said.downcast_ref::<String>().cloned();
        words.or_else(|| said.downcast_ref::<&str>().map(|words| (*words).to_owned())).unwrap_or_default()
    })
}

/// The error of the system that `words` name as Rust's `Debug` does: `Os { code: 5, kind: ..., message: ... }`.
pub(super) fn system_error(words: &str) -> Option<io::Error> {
    let (_, rest) = words.split_once("Os { code: ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok().map(io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n04_a_panic_is_what_it_said_and_names_the_error_of_the_system() {
        assert_eq!(quietly(|| 7), Ok(7));
        let eio = || io::Error::from_raw_os_error(5);
        let said = quietly(|| panic!("called `Result::unwrap()` on an `Err` value: {:?}", eio())).unwrap_err();
        assert_eq!(system_error(&said).and_then(|error| error.raw_os_error()), Some(5));
        assert_eq!(quietly(|| panic!("no")), Err::<(), _>("no".to_owned()));
        assert!(system_error("no").is_none());
        // a copy of an error has its words inside its own
        let copy = io::Error::other(format!("{:?}", eio()));
        assert_eq!(system_error(&format!("{copy:?}")).and_then(|error| error.raw_os_error()), Some(5));
    }
}
