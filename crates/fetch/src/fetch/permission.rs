//! The right to make requests, as the executor looks at it: before a request is sent, and whenever it moves on until
//! its answer is whole.
//!
//! A process that was stopped, or a machine that slept, may have lost the right between two steps of a request. What is
//! in flight then is dropped with its connection, and sent again when the right is back; where it does not come back,
//! the executor is stopped.

use std::future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::contract::Lease;

/// Pause between two looks at whether a request may be sent.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time between two looks while a request waits for its answer.
const LOOK: Duration = Duration::from_secs(1);

/// The right to make requests; everybody has it where there is no lease.
#[derive(Clone, Debug, Default)]
pub struct Permission(Option<Arc<dyn Lease>>);

impl Permission {
    /// The permission of the holder of this lease.
    pub fn by(lease: Option<Arc<dyn Lease>>) -> Permission {
        Permission(lease)
    }

    /// Waits until a request may be sent.
    pub(super) async fn may_send(&self) {
        let Some(lease) = &self.0 else { return };
        while !lease.holds() {
            sleep(PAUSE).await;
        }
    }

    /// Waits until none may be. It looks whenever it is polled, which is whenever the task moves on that it is a part
    /// of.
    pub(super) async fn lost(&self) {
        let Some(lease) = &self.0 else { return future::pending().await };
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        future::poll_fn(|context| {
            while looks.poll_tick(context).is_ready() {}
            if lease.holds() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Switch(AtomicBool);

    impl Lease for Switch {
        fn holds(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// True if it is ready at the first look.
    async fn is_ready(future: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            () = future => true,
            () = future::ready(()) => false,
        }
    }

    #[test]
    fn what_is_under_way_is_dropped_when_the_right_is_lost_and_waits_until_it_is_back() {
        let switch = Arc::new(Switch::default());
        let permission = Permission::by(Some(switch.clone()));
        let set = |to: bool| switch.0.store(to, Ordering::Relaxed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            assert!(!is_ready(permission.may_send()).await && is_ready(permission.lost()).await);
            set(true);
            assert!(is_ready(permission.may_send()).await && !is_ready(permission.lost()).await);
            let under_way = permission.lost();
            tokio::pin!(under_way);
            assert!(!is_ready(&mut under_way).await);
            set(false);
            assert!(is_ready(&mut under_way).await, "it is seen at the next step");
            // nobody takes away what everybody has
            let all = Permission::default();
            assert!(is_ready(all.may_send()).await && !is_ready(all.lost()).await);
        });
    }
}
