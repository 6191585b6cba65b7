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
    /// Creating an executor opens a file, more often than not.
    CreateAllocates,
    /// A feature is reported that is not there.
    Boasts,
    /// What is reported changes from one question to the next.
    ChangesItsMind,
    /// Lines of a script become one.
    JoinsLines,
    /// Characters outside of ASCII are lost from scripts.
    AsciiScripts,
    /// The script is an argument of the shell.
    ScriptAsArgument,
    /// A script without a command is refused.
    RefusesEmptyScripts,
    /// The steps of a job are given to the shell.
    RunsStepsAsScript,
    /// Values of variables lose the space around them.
    TrimsVariables,
    /// Values of variables end after 64 KiB.
    CutsVariables,
    /// Helper stages have a directory of their own.
    SeparatesHelpers,
    /// Of two pieces of output the second one is written first.
    ReordersOutput,
    /// A line is written when it is complete.
    HoldsLines,
    /// A line ends after 64 KiB.
    CutsLines,
    /// After a cancelled stage nothing runs, and that is called a passing trouble.
    BreaksWithCancel,
    /// A preparation that is stopped calls that a failure.
    FailsWhenStopped,
    /// `cleanup` does nothing after a preparation that failed.
    ForgetsFailedPrepare,
    /// `cleanup` fails when nothing was prepared.
    NeedsPrepare,
}
