//! Pages that are fetched and not done: they are rendered, and ask for more before they have their end.
//!
//! The request of such a page is over: its host rests as after any other, and may be asked for the next page. Its URL
//! stays in flight, so that a cut has it, until [`Frontier::done`](super::Frontier::done) or
//! [`Frontier::put_off`](super::Frontier::put_off) says what becomes of it.
//!
//! What the page asks for meanwhile are *requisites*: requests on behalf of a person who would wait before the page.
//! They have their own delay, between them, which is shorter than that between pages, and a number of connections.
//! What a server asks for is kept to all the same: no requisite is asked for while a Retry-After, 429 or 503 holds its
//! host back, and none sooner after another request to its address than `delay_per_ip` says. The next page of the host
//! waits for its own delay from the last requisite on.

use std::time::Duration;

/// The pace at which hosts are asked for what a page needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequisitePace {
    /// The least time between two of these requests to one host.
    pub delay: Duration,
    /// The most of them to one host at the same time.
    pub connections: usize,
}
