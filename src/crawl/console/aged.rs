//! An answer that is given again until it is too old: several who ask at once have it made once.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::console::Problem;

/// The last answer to one question.
#[derive(Debug)]
pub(super) struct Aged<T>(Mutex<Option<(Instant, T)>>);

impl<T> Default for Aged<T> {
    fn default() -> Self {
        Aged(Mutex::new(None))
    }
}

impl<T: Clone> Aged<T> {
    /// The answer, no older than `age_max`: the last one, or the one that `make` gives now.
    pub(crate) fn get(&self, age_max: Duration, make: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, answer)) = &*last
            && made.elapsed() < age_max
        {
            return Ok(answer.clone());
        }
        let answer = make()?;
        *last = Some((Instant::now(), answer.clone()));
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_made_once_in_its_time_and_a_problem_is_not_kept() {
        let (answer, made) = (Aged::default(), std::cell::Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            if made.get() == 1 { Err(Problem::Busy("first".to_owned())) } else { Ok(made.get()) }
        };
        let hour = Duration::from_secs(3_600);
        assert!(answer.get(hour, make).is_err());
        assert_eq!((answer.get(hour, make), answer.get(hour, make)), (Ok(2), Ok(2)));
        assert_eq!(answer.get(Duration::ZERO, make), Ok(3));
    }
}
