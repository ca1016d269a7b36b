//! Limits of the process that reads documents, which it puts on itself before the first one comes.
//!
//! From then on it can read from the pipes that it has and write to them, take memory up to its limit, and end; on
//! Linux the kernel refuses every other call (seccomp). It can open no file, make no socket, start no program, and run
//! no code that came as data. Elsewhere the limits of memory, files and time hold alone.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Bytes beside those of documents: the stack of the thread that reads them, and tables of the readers.
const OWN_BYTES: u64 = 64 << 20;

/// Takes away what a reader of documents does not need. Memory is limited to `bytes`.
pub(super) fn enter(bytes: u64) -> io::Result<()> {
    for (resource, most) in [(Resource::Fsize, 0), (Resource::Core, 0), (Resource::Nofile, 3)] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    let most = Some(bytes.saturating_add(OWN_BYTES));
    setrlimit(Resource::Data, Rlimit { current: most, maximum: most })?;
    calls::refuse_others()
}

/// Ends this process when it has worked for `limit` more.
pub(super) fn limit_time(limit: Duration) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec.unsigned_abs();
    // a second is the smallest unit of it, and one may have begun
    let most = used + limit.as_secs().max(1) + 1;
    setrlimit(Resource::Cpu, Rlimit { current: Some(most), maximum: getrlimit(Resource::Cpu).maximum })?;
    Ok(())
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod calls {
    use std::io;

    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    /// Calls with any arguments: pipes, memory, locks of threads, the end.
    const ALLOWED: [i64; 21] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_clock_gettime,
        libc::SYS_getrandom,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// Refuses every call but those: it fails as if there were no right to make it.
    pub(super) fn refuse_others() -> io::Result<()> {
        let program = program().map_err(io::Error::other)?;
        apply_filter_all_threads(&program).map_err(io::Error::other)
    }

    fn program() -> Result<BpfProgram, BackendError> {
        let of_this_process = only(0, SeccompCmpOp::Eq, 0)?;
        let not_executable = |argument| only(argument, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
        let itself = only(0, SeccompCmpOp::Eq, u64::from(std::process::id()))?;
        let mut rules: Vec<(i64, Vec<SeccompRule>)> = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
        rules.push((libc::SYS_mmap, vec![not_executable(2)?]));
        rules.push((libc::SYS_mprotect, vec![not_executable(2)?]));
        rules.push((libc::SYS_prlimit64, vec![of_this_process]));
        // with it a process aborts
        rules.push((libc::SYS_tgkill, vec![itself]));
        let filter = SeccompFilter::new(
            rules.into_iter().collect(),
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
            std::env::consts::ARCH.try_into()?,
        )?;
        filter.try_into()
    }

    /// A rule about one argument of a call.
    fn only(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))))]
mod calls {
    pub(super) fn refuse_others() -> std::io::Result<()> {
        Ok(())
    }
}
