/// One bug an executor may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `cleanup` leaves the temporary files.
    ForgetsFiles,
    /// The last piece of output is not written.
    LosesLastBytes,
    /// Background children live on.
    LeaksChildren,
    /// Children that left the process group live on.
    LeaksDetachedChildren,
    /// `cancel` has no effect.
    IgnoresCancel,
    /// `abort` is treated like `cancel`.
    IgnoresAbort,
    /// A process that ignores TERM is waited for.
    NeverKills,
    /// A cancelled process gets no time.
    KillsAtOnce,
    /// Standard output and standard error are exchanged.
    SwapsStreams,
    /// Codes above 127 become 1.
    CutsExitCodes,
    /// A script a signal ended has succeeded.
    HidesSignals,
    /// Variables of one job are seen by the next.
    LeaksVariables,
    /// The script is fed to the shell on standard input, so that commands can read it.
    FeedsScript,
    /// The end of the output is waited for, however long.
    WaitsForPipes,
    /// The second `cleanup` fails.
    CleansUpOnce,
    /// A cancelled stage has succeeded.
    CancelIsSuccess,
    /// The cause of a stop is always the user.
    ForgetsCause,
    /// File variables lose their last newline.
    TrimsFiles,
    /// Everybody can read file variables.
    OpenFiles,
    /// Output is collected and written at the end.
    BuffersOutput,
    /// Every job gets the same environment.
    SharesEnvironment,
    /// The stage never changes.
    StuckStage,
    /// A piece of output that goes on a line gets a prefix.
    DecoratesPieces,
    /// Output is made valid UTF-8.
    CorrectsText,
    /// Values of variables are given on the command line.
    ShowsVariables,
    /// One shell state for all stages: what is exported stays.
    KeepsShell,
    /// A script starts among the temporary files.
    WrongDirectory,
    /// `prepare` panics.
    Panics,
    /// `prepare` never returns.
    Hangs,
    /// Creating an executor starts a process.
    CreateAllocates,
    /// A feature is reported that is not there.
    Boasts,
}
