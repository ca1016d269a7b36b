//! The last warnings of this process, as its log says them: a bounded number in memory.
//!
//! It is a layer of the log, which is only there where a console is open.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::clock::Time;

/// Warnings that are kept.
const KEPT: usize = 200;
/// Bytes of one of them.
const MESSAGE_BYTES_MAX: usize = 1_000;

/// A warning or an error that was logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// When.
    pub at: Time,
    /// `warning` or `error`.
    pub level: &'static str,
    /// Text of the warning.
    pub message: String,
}

/// The last ones.
#[derive(Clone, Debug, Default)]
pub struct RecentWarnings(Arc<Mutex<VecDeque<Warning>>>);

impl RecentWarnings {
    /// The newest first.
    pub(crate) fn newest_first(&self) -> Vec<Warning> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }

    fn push(&self, warning: Warning) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(warning);
    }
}

impl<S: Subscriber> Layer<S> for RecentWarnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => return,
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = Time::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        let mut said = Said(String::new());
        event.record(&mut said);
        let mut message = said.0;
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        self.push(Warning { at, level, message });
    }
}

/// The message of an event, and behind it its other fields.
struct Said(String);

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => {
                let others = std::mem::take(&mut self.0);
                write!(self.0, "{value:?}{others}")
            }
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn the_last_warnings_are_kept_with_their_fields_and_nothing_else_is() {
        let warnings = RecentWarnings::default();
        let subscriber = tracing_subscriber::registry().with(warnings.clone());
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..KEPT + 10 {
                tracing::warn!(number, "the disk fills up");
                tracing::info!("metrics");
            }
            tracing::error!("{}", "é".repeat(MESSAGE_BYTES_MAX));
        });
        let kept = warnings.newest_first();
        assert_eq!(kept.len(), KEPT);
        assert_eq!((kept[0].level, kept[0].message.len()), ("error", MESSAGE_BYTES_MAX));
        assert_eq!(kept[1].message, format!("the disk fills up number={}", KEPT + 9));
        assert!(kept.iter().all(|warning| warning.at > Time::ZERO));
    }
}
