//! Durations in JSON: a number of seconds, so that its field can name the unit (`elapsed_s`).
//!
//! In the format of checkpoints, which no people read, they stay what serde makes of them: whole seconds and
//! nanoseconds.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes `duration`.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.serialize_f64(duration.as_secs_f64())
    } else {
        duration.serialize(serializer)
    }
}

/// Reads what [`serialize`] has written; a number that is no duration is an error.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    if !deserializer.is_human_readable() {
        return Duration::deserialize(deserializer);
    }
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| D::Error::custom(format!("{seconds} seconds are no duration")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Run {
        #[serde(rename = "took_s", with = "super")]
        took: Duration,
    }

    #[test]
    fn durations_are_seconds_in_json_and_whole_in_a_checkpoint() {
        for (ms, json) in [(0, r#"{"took_s":0.0}"#), (1_234, r#"{"took_s":1.234}"#)] {
            let run = Run { took: Duration::from_millis(ms) };
            assert_eq!(serde_json::to_string(&run).unwrap(), json);
            assert_eq!(serde_json::from_str::<Run>(json).unwrap(), run);
        }
        let long = Run { took: Duration::new(u64::MAX, 999_999_999) };
        assert_eq!(postcard::from_bytes::<Run>(&postcard::to_allocvec(&long).unwrap()).unwrap(), long);
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for seconds in ["-1", "1e300", "\"7\"", "null"] {
            serde_json::from_str::<Run>(&format!("{{\"took_s\":{seconds}}}")).unwrap_err();
        }
    }
}
