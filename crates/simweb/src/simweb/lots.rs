//! The random numbers of a URL that no plan knows.

/// Those of the URL of that host and path (FNV-1a over both).
pub(super) fn lots(seed: u64, name: &str, path: &str) -> fastrand::Rng {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    fastrand::Rng::with_seed(name.bytes().chain(*b" ").chain(path.bytes()).fold(seed ^ 0xcbf2_9ce4_8422_2325, step))
}
