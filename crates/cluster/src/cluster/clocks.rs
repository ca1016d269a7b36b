//! The two clocks that a lease is measured by.
//!
//! `CLOCK_BOOTTIME` goes on while a machine sleeps, and nobody sets it. The wall clock is only looked at beside it: a
//! hypervisor that stops every clock of a guest for a while sets the wall clock afterwards, and not the other one.

use std::fmt;

/// Microseconds of a clock.
pub type Micros = u64;

/// The clocks by which a lease is measured.
pub trait Clocks: fmt::Debug + Send + Sync {
    /// Returns the time since some moment before the process began. It goes on while the machine sleeps.
    fn boot(&self) -> Micros;
    /// Returns the time since the Unix epoch, as the machine has it at present.
    fn wall(&self) -> Micros;
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClocks;

/// Elsewhere than on Linux the monotonic clock is the one that goes on in sleep, or there is none.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

impl Clocks for SystemClocks {
    fn boot(&self) -> Micros {
        micros(BOOT)
    }

    fn wall(&self) -> Micros {
        micros(rustix::time::ClockId::Realtime)
    }
}

fn micros(clock: rustix::time::ClockId) -> Micros {
    let time = rustix::time::clock_gettime(clock);
    // clocks before 1970 are as wrong as one that shows 1970
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}
