//! Outcomes of a call to etcd that failed. The question is always the same: has it been carried out?

/// Reasons for which a call has no answer that counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdError {
    /// Nobody knows whether it was, or will be, carried out: no endpoint answered, an answer was cut off, a leader was
    /// lost, the database is full. The same call has to be sent again.
    #[error("etcd gives no clear answer: {0}")]
    Unclear(String),
    /// It was not carried out, and will not be: etcd says why.
    #[error("etcd refuses: {message} (code {code})")]
    Refused {
        /// Code of gRPC.
        code: u32,
        /// etcd's words.
        message: String,
    },
    /// It asks for a revision that is not there any more.
    #[error("etcd has compacted that revision")]
    Compacted,
    /// The lease has ended.
    #[error("etcd does not know the lease")]
    NoLease,
    /// Another etcd answers: one that was restored from a snapshot, or another one at the same address.
    #[error(
        "the etcd that answers has the cluster id {found:x}, and the crawl was made in {expected:x}: it was restored \
         from a snapshot, or is another one; crawler cluster recover lets the crawl go on"
    )]
    OtherCluster {
        /// Id of the cluster that the crawl has.
        expected: u64,
        /// Id of the cluster that answers.
        found: u64,
    },
    /// etcd has gone back, which it never does unless its data was put back.
    #[error(
        "etcd is at revision {found}, and was at {seen}: its data was put back; crawler cluster recover lets the \
             crawl go on"
    )]
    WentBack {
        /// The highest revision that was seen.
        seen: u64,
        /// Revision that it says now.
        found: u64,
    },
    /// The client was closed.
    #[error("the client of etcd is closed")]
    Closed,
}

/// Result of a call to etcd.
pub type Result<T> = std::result::Result<T, EtcdError>;

impl EtcdError {
    /// Returns whether sending the same again can bring an answer.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, EtcdError::Unclear(_))
    }

    /// The same error with another message, where it has one.
    pub(super) fn map_message(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            EtcdError::Unclear(words) => EtcdError::Unclear(change(words)),
            EtcdError::Refused { code, message } => EtcdError::Refused { code, message: change(message) },
            other => other,
        }
    }
}

/// Returns the error that the gateway sends instead of an answer.
pub(super) fn of_answer(code: u32, message: String) -> EtcdError {
    match code {
        5 if message.contains("lease") => EtcdError::NoLease,
        11 if message.contains("compacted") => EtcdError::Compacted,
        // invalid argument, not found, permission denied, failed precondition, out of range, unimplemented,
        // unauthenticated: all of these are said before anything is done
        3 | 5 | 7 | 9 | 11 | 12 | 16 => EtcdError::Refused { code, message },
        _ => EtcdError::Unclear(message),
    }
}

/// Returns whether the error may go away with another token.
pub(super) fn wants_token(error: &EtcdError) -> bool {
    let EtcdError::Refused { code, message } = error else {
        return false;
    };
    *code == 16 || *code == 3 && (message.contains("user name is empty") || message.contains("auth"))
}

/// A fault with all its causes: reqwest's text alone says little.
pub(super) fn with_causes(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_before_anything_is_done_is_definite() {
        let error = |code, message: &str| of_answer(code, message.to_owned());
        assert_eq!(error(5, "etcdserver: requested lease not found"), EtcdError::NoLease);
        assert_eq!(error(11, "etcdserver: mvcc: required revision has been compacted"), EtcdError::Compacted);
        for (code, message) in [
            (14, "etcdserver: request timed out"),
            (14, "etcdserver: leader changed"),
            (14, "etcdserver: no leader"),
            (8, "etcdserver: mvcc: database space exceeded"),
            (4, "context deadline exceeded"),
            (2, "something"),
            (13, "stream terminated"),
            (1, "context canceled"),
        ] {
            assert!(error(code, message).may_pass(), "{message}");
        }
        assert!(!error(7, "etcdserver: permission denied").may_pass());
        assert!(wants_token(&error(16, "etcdserver: invalid auth token")));
        assert!(wants_token(&error(3, "etcdserver: user name is empty")));
        assert!(!wants_token(&error(3, "etcdserver: key is not provided")));
    }
}
