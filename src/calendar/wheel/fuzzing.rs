//! The files of a wheel as any bytes.
