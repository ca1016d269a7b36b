//! The report of a fault of a file as damage: one function for all of `verify`, so that a new kind of error is judged
//! once.

use crate::container::Report;
use crate::disk::Error;

/// Tells of a fault of a file.
pub(super) fn tell(report: &mut Report<'_>, fault: Error) {
    match fault {
        Error::Damaged { path, offset, expected, found } => {
            report.damage(&path, offset, format!("expected {expected}, found {found}"));
        }
        Error::Io { path, .. } => report.damage(&path, 0, "missing; the last checkpoint lists it"),
        fault => report.damage(fault.path(), 0, fault.to_string()),
    }
}
