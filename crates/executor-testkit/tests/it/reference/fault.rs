/// A bug that an executor may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `cleanup` does not remove temporary files.
    ForgetsFiles,
    /// The last piece of output is not written.
    LosesLastBytes,
    /// Background children survive.
    LeaksChildren,
    /// Children that left the process group survive.
    LeaksDetachedChildren,
    /// `cancel` has no effect.
    IgnoresCancel,
    /// `abort` is treated like `cancel`.
    IgnoresAbort,
    /// A process that ignores TERM is never killed.
    NeverKills,
    /// A canceled process gets no time to end.
    KillsAtOnce,
    /// Standard output and standard error are swapped.
    SwapsStreams,
    /// Codes above 127 become 1.
    CutsExitCodes,
    /// A script that was killed by a signal counts as successful.
    HidesSignals,
    /// Variables of one job are visible to the next.
    LeaksVariables,
    /// The script is fed to the shell on standard input, so that commands can read it.
    FeedsScript,
    /// The stage waits for the end of the output without a limit.
    WaitsForPipes,
    /// The second `cleanup` fails.
    CleansUpOnce,
    /// A canceled stage counts as successful.
    CancelIsSuccess,
    /// The cause of a stop is always the user.
    ForgetsCause,
    /// File variables lose their last newline.
    TrimsFiles,
    /// All users can read file variables.
    OpenFiles,
    /// Output is collected and written at the end.
    BuffersOutput,
    /// Every job gets the same environment.
    SharesEnvironment,
    /// The stage never changes.
    StuckStage,
    /// A piece of output that continues a line gets a prefix.
    DecoratesPieces,
    /// Output is converted to valid UTF-8.
    CorrectsText,
    /// Values of variables are passed on the command line.
    ShowsVariables,
    /// All stages share one shell state, so exported variables persist.
    KeepsShell,
    /// A script starts in the directory of temporary files.
    WrongDirectory,
    /// `prepare` panics.
    Panics,
    /// `prepare` never returns.
    Hangs,
    /// Creating an executor usually opens a file.
    CreateAllocates,
    /// A missing feature is reported.
    Boasts,
    /// The reported features change from one call to the next.
    ChangesItsMind,
    /// The lines of a script are joined into one.
    JoinsLines,
    /// Characters outside of ASCII are lost from scripts.
    AsciiScripts,
    /// The script is an argument of the shell.
    ScriptAsArgument,
    /// A script without a command is refused.
    RefusesEmptyScripts,
    /// The steps of a job are passed to the shell.
    RunsStepsAsScript,
    /// Values of variables lose leading and trailing space.
    TrimsVariables,
    /// Values of variables are truncated after 64 KiB.
    CutsVariables,
    /// Helper stages have a separate directory.
    SeparatesHelpers,
    /// Two pieces of output are written in reverse order.
    ReordersOutput,
    /// A line is written only when it is complete.
    HoldsLines,
    /// A line is truncated after 64 KiB.
    CutsLines,
    /// After a canceled stage nothing runs, and the error is reported as temporary.
    BreaksWithCancel,
    /// A canceled preparation is reported as a failure.
    FailsWhenStopped,
    /// `cleanup` does nothing after a failed preparation.
    ForgetsFailedPrepare,
    /// `cleanup` fails when nothing was prepared.
    NeedsPrepare,
}
