//! Starts a process in a session of its own, directly inside a leaf cgroup.
//!
//! The session isolates the terminal: a process in the runner's session could open `/dev/tty`, write a secret past
//! the log's masking, or read a password and block the run.
//!
//! Moving a running process into a cgroup makes the kernel wait for a grace period of RCU: about 8 ms on an idle
//! machine, as long as ten shells. `clone3` with `CLONE_INTO_CGROUP` starts the child there at no cost, so it never
//! runs outside. No safe wrapper combines it with the borrowed memory of `vfork`, hence the unsafe code.
#![expect(
    unsafe_code,
    reason = "clone3 has no safe wrapper; every block says why it is sound"
)]

use std::arch::asm;
use std::ffi::{CString, c_char, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::process::{Pid, Rlimit};

use super::{ChildStdio, Started};
use crate::command::Prepared;
use crate::limits;

/// From the kernel's `sched.h`; libc declares both as 32-bit integers, which are too small.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Enough for a few system calls, which is all that the child does.
const STACK_SIZE: usize = 64 * 1024;

/// The highest signal number of Linux.
const LAST_SIGNAL: c_int = 64;

/// The kernel's `struct sigaction`; all zeros is the default action.
#[repr(C)]
#[derive(Default)]
struct KernelSigaction {
    handler: usize,
    flags: libc::c_ulong,
    restorer: usize,
    mask: u64,
}

/// The data that the child needs before `execve`, readable without allocation.
struct ChildContext {
    program: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    current_dir: *const c_char,
    stdio: [c_int; 3],
    open_files: Option<libc::rlimit>,
    file_locks: Option<libc::rlimit>,
    /// Set by the child's first instructions.
    did_run: bool,
    /// The `errno` of the failed step, written by the child; 0 if none failed.
    error: c_int,
}

/// Starts a process as the leader of its own session and group, in the leaf if there is one.
///
/// The calling thread sleeps until the child has called `execve`, as with `vfork`.
///
/// The outer error means that no child could be created, or none in the leaf; the inner error that the child could not
/// execute the program.
pub(crate) fn spawn(
    command: &Prepared,
    stdio: &ChildStdio,
    leaf: Option<BorrowedFd<'_>>,
) -> io::Result<io::Result<Started>> {
    let args = pointers(&command.args);
    let env = pointers(&command.env);
    let lock_limit = command.lock_limit.filter(|_| leaf.is_none());
    let mut context = ChildContext {
        program: command.program.as_ptr(),
        args: args.as_ptr(),
        env: env.as_ptr(),
        current_dir: command
            .current_dir
            .as_ref()
            .map_or(ptr::null(), |path| path.as_ptr()),
        stdio: [
            stdio.stdin.as_raw_fd(),
            stdio.stdout.as_raw_fd(),
            stdio.stderr.as_raw_fd(),
        ],
        open_files: limits::open_files().map(c_limit),
        file_locks: lock_limit.map(c_limit),
        did_run: false,
        error: 0,
    };
    let mut stack = Box::<[MaybeUninit<u8>]>::new_uninit_slice(STACK_SIZE);
    let mut pidfd: c_int = -1;
    // SAFETY: `clone_args` consists of integers only, for which zero is a value.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = CLONE_CLEAR_SIGHAND
        | u64::from((libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD).cast_unsigned());
    arguments.pidfd = (&raw mut pidfd).addr() as u64;
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    // The kernel requires a stack pointer that is a multiple of 16 at the call; the heap's is.
    arguments.stack = stack.as_mut_ptr().addr() as u64;
    arguments.stack_size = STACK_SIZE as u64;
    if let Some(leaf) = leaf {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::from(leaf.as_raw_fd().cast_unsigned());
    }

    let blocked = BlockedSignals::new();
    // SAFETY: all pointers live until `clone` returns, and with CLONE_VFORK that
    // is after the child has left this memory for good.
    let result = unsafe { clone(&raw const arguments, &raw mut context) };
    drop(blocked);

    let pid = i32::try_from(result).unwrap_or(-1);
    if pid < 0 {
        return Err(io::Error::from_raw_os_error(pid.saturating_neg()));
    }
    let pid = Pid::from_raw(pid).expect("clone returns no zero to the parent");
    // SAFETY: the kernel has just opened this descriptor for us alone.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    // SAFETY: the child wrote through a raw pointer, so the values are read afresh.
    let (did_run, error) = unsafe {
        (
            ptr::read_volatile(&raw const context.did_run),
            ptr::read_volatile(&raw const context.error),
        )
    };
    if error != 0 {
        super::reap::wait_for(pid)?;
        return Ok(Err(io::Error::from_raw_os_error(error)));
    }
    Ok(Ok(Started {
        pid,
        pidfd,
        did_run,
    }))
}

fn c_limit(limit: Rlimit) -> libc::rlimit {
    libc::rlimit {
        rlim_cur: limit.current.unwrap_or(libc::RLIM_INFINITY),
        rlim_max: limit.maximum.unwrap_or(libc::RLIM_INFINITY),
    }
}

/// Returns the null-terminated array of pointers that `execve` takes.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([ptr::null()])
        .collect()
}

/// Keeps signal handlers from running in the child while it borrows memory.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    fn new() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigfillset` initialises the set it is given, and
        // `pthread_sigmask` cannot fail with a valid first argument, so it
        // initialises `before`.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set came from the kernel in `new`; the old one is not wanted.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// Calls `clone3`; returns the child's pid or a negative `errno`.
///
/// # Safety
///
/// `arguments` must describe a child with CLONE_VM, CLONE_VFORK and a stack of
/// its own; `context` must be valid for [`child`].
#[cfg(target_arch = "x86_64")]
unsafe fn clone(arguments: *const libc::clone_args, context: *mut ChildContext) -> i64 {
    let mut result: i64 = libc::SYS_clone3;
    // SAFETY: the parent's side is a plain system call. The child comes back
    // with the same registers but at the top of its own, empty stack, where it
    // may only call `child`, which never returns.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") result,
            in("rdi") arguments,
            in("rsi") size_of::<libc::clone_args>(),
            in("r12") context,
            in("r13") child as unsafe extern "C" fn(*mut ChildContext) -> !,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

/// Calls `clone3`; returns the child's pid or a negative `errno`.
///
/// # Safety
///
/// `arguments` must describe a child with CLONE_VM, CLONE_VFORK and a stack of
/// its own; `context` must be valid for [`child`].
#[cfg(target_arch = "aarch64")]
unsafe fn clone(arguments: *const libc::clone_args, context: *mut ChildContext) -> i64 {
    let result: i64;
    // SAFETY: as for the other architecture: the child may only call `child`.
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "brk 1",
            "2:",
            inlateout("x0") arguments => result,
            in("x1") size_of::<libc::clone_args>(),
            in("x8") libc::SYS_clone3,
            in("x20") context,
            in("x21") child as unsafe extern "C" fn(*mut ChildContext) -> !,
        );
    }
    result
}

/// Runs in the child until `execve`.
///
/// # Safety
///
/// Runs in the parent's memory while one parent thread sleeps and others go on,
/// so it may neither allocate, lock, panic nor return. `context` must be valid
/// and unshared.
unsafe extern "C" fn child(context: *mut ChildContext) -> ! {
    // SAFETY: the caller hands over a valid context whose pointers all live in
    // the sleeping parent; the functions called are async-signal-safe.
    unsafe {
        ptr::write_volatile(&raw mut (*context).did_run, true);
        if prepare(&*context) {
            libc::execve((*context).program, (*context).args, (*context).env);
        }
        ptr::write_volatile(&raw mut (*context).error, *libc::__errno_location());
        libc::_exit(127)
    }
}

/// Sets up session, descriptors, directory and signals; false if a step failed.
///
/// # Safety
///
/// As for [`child`].
unsafe fn prepare(context: &ChildContext) -> bool {
    // SAFETY: the pointers in the context are valid; `signals` is initialised
    // by `sigemptyset` before it is used.
    unsafe {
        if libc::setsid() == -1 {
            return false;
        }
        let [stdin, stdout, stderr] = context.stdio;
        if libc::dup2(stdin, 0) == -1 || libc::dup2(stdout, 1) == -1 || libc::dup2(stderr, 2) == -1
        {
            return false;
        }
        // The job must not inherit files that the runner inherited, such as a build tool's job server or a terminal.
        // Kernels before 5.11 do not support the call; their jobs inherit them.
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
        if !context.current_dir.is_null() && libc::chdir(context.current_dir) == -1 {
            return false;
        }
        // These fail only where a limit of the runner was lowered meanwhile, and the child has that one.
        if let Some(limit) = &context.open_files {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        if let Some(limit) = &context.file_locks {
            libc::setrlimit(libc::RLIMIT_LOCKS, limit);
        }
        // Ignored signals are inherited: SIGPIPE, which Rust ignores (`yes | head` must end), and those that the runner's
        // parent ignored, such as SIGHUP below `nohup`. The job starts with none. The kernel is called directly because
        // the C library refuses the two signals that it uses itself. SIGKILL and SIGSTOP cannot be set, which is harmless.
        let default = KernelSigaction::default();
        for signal in 1..=LAST_SIGNAL {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                &raw const default,
                ptr::null_mut::<KernelSigaction>(),
                size_of_val(&default.mask),
            );
        }
        let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, signals.as_ptr(), ptr::null_mut()) == 0
    }
}
