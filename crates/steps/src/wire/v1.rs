// @generated from the `.proto` of the same name. See `tests/it/wire.rs`.
/// A variable of a CI job.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
#[prost(skip_debug)]
pub struct Variable {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: ::prost::alloc::string::String,
    /// Its value, or the content of its file.
    #[prost(string, tag = "2")]
    pub value: ::prost::alloc::string::String,
    /// Whether the value goes to a file, and the variable is that file's path.
    #[prost(bool, tag = "3")]
    pub file: bool,
    /// Whether the value is hidden in the log.
    #[prost(bool, tag = "4")]
    pub masked: bool,
    /// Whether the value is taken as it is. Otherwise references to other variables in it are expanded.
    #[prost(bool, tag = "100")]
    pub raw: bool,
    /// The content of its file where that is no text. Goes before `value`.
    #[prost(bytes = "vec", tag = "101")]
    pub content: ::prost::alloc::vec::Vec<u8>,
}
/// What a request takes from a CI job.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Job {
    /// The job's variables, the later ones win.
    #[prost(message, repeated, tag = "1")]
    pub variables: ::prost::alloc::vec::Vec<Variable>,
    /// The job's id.
    #[prost(string, tag = "2")]
    pub job_id: ::prost::alloc::string::String,
    /// The id of the job's pipeline.
    #[prost(string, tag = "3")]
    pub pipeline_id: ::prost::alloc::string::String,
    /// The directory that the steps run in.
    #[prost(string, tag = "4")]
    pub build_dir: ::prost::alloc::string::String,
    /// What the job's tokens begin with, for the masks.
    #[prost(string, repeated, tag = "5")]
    pub token_prefixes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// What the log does not show.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
#[prost(skip_debug)]
pub struct Masking {
    /// Hidden wherever they are.
    #[prost(string, repeated, tag = "1")]
    pub phrases: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// What follows one of these is hidden.
    #[prost(string, repeated, tag = "2")]
    pub token_prefixes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// How patient the service is with a request. Zero stands for the service's own setting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Timing {
    /// From the polite signal to the one that kills, in milliseconds.
    #[prost(uint64, tag = "1")]
    pub terminate_grace_ms: u64,
    /// How long a program in the background may hold the output open after its step, in milliseconds.
    #[prost(uint64, tag = "2")]
    pub pipe_grace_ms: u64,
    /// How long the whole request may take, in milliseconds.
    #[prost(uint64, tag = "3")]
    pub timeout_ms: u64,
}
/// What runs a script.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Shell {
    /// Program and arguments; the path of the script follows them.
    #[prost(string, repeated, tag = "1")]
    pub argv: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// A request to run steps.
#[derive(Clone, PartialEq, ::prost::Message)]
#[prost(skip_debug)]
pub struct RunRequest {
    /// The id, which names the request from here on.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// The directory that the steps run in. `Job.build_dir` goes before it.
    #[prost(string, tag = "2")]
    pub work_dir: ::prost::alloc::string::String,
    /// Goes into the environment of each step as it is.
    #[prost(btree_map = "string, string", tag = "3")]
    pub env: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// What the log does not show.
    #[prost(message, optional, tag = "4")]
    pub masking: ::core::option::Option<Masking>,
    /// A CI job's own data, which becomes part of the other fields.
    #[prost(message, optional, tag = "5")]
    pub job: ::core::option::Option<Job>,
    /// The steps: a JSON array of them, a step definition, or specification and definition as two YAML documents.
    #[prost(string, tag = "6")]
    pub steps: ::prost::alloc::string::String,
    /// Graces and the time limit.
    #[prost(message, optional, tag = "100")]
    pub timing: ::core::option::Option<Timing>,
    /// Where file variables are written; they stay there. By default the working directory with `.tmp` appended, where they go
    /// with the request.
    #[prost(string, tag = "101")]
    pub temp_dir: ::prost::alloc::string::String,
    /// What runs the scripts; by default bash, else sh.
    #[prost(message, optional, tag = "102")]
    pub shell: ::core::option::Option<Shell>,
    /// Whether the service leaves its own lines out of the log, such as those that name the steps.
    #[prost(bool, tag = "103")]
    pub quiet: bool,
    /// The service that the request is for, as `Hello` names it. Any other refuses it with `FAILED_PRECONDITION`, and names
    /// itself in the metadatum `runwright-instance`. Empty: the service that receives it.
    #[prost(string, tag = "104")]
    pub instance: ::prost::alloc::string::String,
    /// Whether `steps` is a JSON array of scripts, with `name` and `script`, that are taken as they are: nothing in them is an
    /// expression, and their names are any text.
    #[prost(bool, tag = "105")]
    pub verbatim: bool,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct RunResponse {}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FollowStepsRequest {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FollowStepsResponse {
    /// A step as it is now.
    #[prost(message, optional, tag = "1")]
    pub result: ::core::option::Option<StepResult>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FollowLogsRequest {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// The byte of the log to begin at.
    #[prost(int64, tag = "2")]
    pub offset: i64,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FollowLogsResponse {
    /// The next bytes of the log.
    #[prost(bytes = "vec", tag = "1")]
    pub data: ::prost::alloc::vec::Vec<u8>,
    /// Whether these bytes reach to the end of the log as it is now. Then `open` is known.
    #[prost(bool, tag = "100")]
    pub settled: bool,
    /// The streams whose last line goes on, so that its newline is not their own. 1: standard output, 2: standard error.
    #[prost(uint32, tag = "101")]
    pub open: u32,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FinishRequest {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FinishResponse {}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct StatusRequest {
    /// The request; all of them if it is empty.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StatusResponse {
    /// The requests that were asked for.
    #[prost(message, repeated, tag = "1")]
    pub jobs: ::prost::alloc::vec::Vec<Status>,
}
/// How a request is.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Status {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// Whether it has ended.
    #[prost(bool, tag = "2")]
    pub finished: bool,
    /// The exit code of the step that ended it, 0 if none failed.
    #[prost(int32, tag = "3")]
    pub exit_code: i32,
    /// When it began.
    #[prost(message, optional, tag = "4")]
    pub start_time: ::core::option::Option<::prost_types::Timestamp>,
    /// When it ended, if it has.
    #[prost(message, optional, tag = "5")]
    pub end_time: ::core::option::Option<::prost_types::Timestamp>,
    /// All that is known.
    #[prost(message, optional, tag = "100")]
    pub result: ::core::option::Option<Result>,
}
/// What is known about the course of a request.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Result {
    /// How it is.
    #[prost(enumeration = "result::State", tag = "1")]
    pub state: i32,
    /// The signal that ended the last process, 0 if none did.
    #[prost(int32, tag = "2")]
    pub signal: i32,
    /// Whether the kernel killed something for want of memory.
    #[prost(bool, tag = "3")]
    pub oom_killed: bool,
    /// Time of all steps in microseconds.
    #[prost(uint64, tag = "4")]
    pub duration_us: u64,
    /// CPU time of all steps in microseconds.
    #[prost(uint64, tag = "5")]
    pub cpu_us: u64,
    /// The largest memory that a process held, in bytes.
    #[prost(uint64, tag = "6")]
    pub peak_memory: u64,
    /// Bytes that the steps wrote to standard output.
    #[prost(uint64, tag = "7")]
    pub stdout_bytes: u64,
    /// Bytes that the steps wrote to standard error.
    #[prost(uint64, tag = "8")]
    pub stderr_bytes: u64,
    /// What kind of error ended it.
    #[prost(enumeration = "result::ErrorKind", tag = "9")]
    pub error_kind: i32,
    /// The error in words.
    #[prost(string, tag = "10")]
    pub message: ::prost::alloc::string::String,
    /// Length of the log so far; after the end, of the whole log.
    #[prost(uint64, tag = "11")]
    pub log_bytes: u64,
    /// Whether a process had to be killed because it did not end when asked to.
    #[prost(bool, tag = "12")]
    pub killed: bool,
    /// Whether the output was cut because a program in the background held it open.
    #[prost(bool, tag = "13")]
    pub output_cut: bool,
    /// Why the log is not complete, if it is not: the disk is full.
    #[prost(string, tag = "14")]
    pub log_error: ::prost::alloc::string::String,
}
/// Nested message and enum types in `Result`.
pub mod result {
    #[derive(
        Clone,
        Copy,
        Debug,
        PartialEq,
        Eq,
        Hash,
        PartialOrd,
        Ord,
        ::prost::Enumeration
    )]
    #[repr(i32)]
    pub enum State {
        /// It has not begun.
        Unspecified = 0,
        /// It runs.
        Running = 1,
        /// All steps succeeded.
        Success = 2,
        /// A step failed.
        Failure = 3,
        /// It was stopped.
        Cancelled = 4,
    }
    impl State {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "STATE_UNSPECIFIED",
                Self::Running => "STATE_RUNNING",
                Self::Success => "STATE_SUCCESS",
                Self::Failure => "STATE_FAILURE",
                Self::Cancelled => "STATE_CANCELLED",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "STATE_UNSPECIFIED" => Some(Self::Unspecified),
                "STATE_RUNNING" => Some(Self::Running),
                "STATE_SUCCESS" => Some(Self::Success),
                "STATE_FAILURE" => Some(Self::Failure),
                "STATE_CANCELLED" => Some(Self::Cancelled),
                _ => None,
            }
        }
    }
    #[derive(
        Clone,
        Copy,
        Debug,
        PartialEq,
        Eq,
        Hash,
        PartialOrd,
        Ord,
        ::prost::Enumeration
    )]
    #[repr(i32)]
    pub enum ErrorKind {
        /// There is no error.
        Unspecified = 0,
        /// A step's process ended with another code than 0, or by a signal.
        StepFailure = 1,
        /// Somebody asked for the end.
        Cancelled = 2,
        /// It took longer than it was allowed to.
        Timeout = 3,
        /// The service could not do its work.
        Internal = 4,
        /// A step could not be started: no shell, no directory.
        Start = 5,
    }
    impl ErrorKind {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "ERROR_KIND_UNSPECIFIED",
                Self::StepFailure => "ERROR_KIND_STEP_FAILURE",
                Self::Cancelled => "ERROR_KIND_CANCELLED",
                Self::Timeout => "ERROR_KIND_TIMEOUT",
                Self::Internal => "ERROR_KIND_INTERNAL",
                Self::Start => "ERROR_KIND_START",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "ERROR_KIND_UNSPECIFIED" => Some(Self::Unspecified),
                "ERROR_KIND_STEP_FAILURE" => Some(Self::StepFailure),
                "ERROR_KIND_CANCELLED" => Some(Self::Cancelled),
                "ERROR_KIND_TIMEOUT" => Some(Self::Timeout),
                "ERROR_KIND_INTERNAL" => Some(Self::Internal),
                "ERROR_KIND_START" => Some(Self::Start),
                _ => None,
            }
        }
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct CancelRequest {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// How strongly.
    #[prost(enumeration = "cancel_request::Level", tag = "2")]
    pub level: i32,
}
/// Nested message and enum types in `CancelRequest`.
pub mod cancel_request {
    #[derive(
        Clone,
        Copy,
        Debug,
        PartialEq,
        Eq,
        Hash,
        PartialOrd,
        Ord,
        ::prost::Enumeration
    )]
    #[repr(i32)]
    pub enum Level {
        /// Means `LEVEL_CANCEL`.
        Unspecified = 0,
        /// The polite signal, and after the grace the one that kills.
        Cancel = 1,
        /// The signal that kills.
        Abort = 2,
    }
    impl Level {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "LEVEL_UNSPECIFIED",
                Self::Cancel => "LEVEL_CANCEL",
                Self::Abort => "LEVEL_ABORT",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "LEVEL_UNSPECIFIED" => Some(Self::Unspecified),
                "LEVEL_CANCEL" => Some(Self::Cancel),
                "LEVEL_ABORT" => Some(Self::Abort),
                _ => None,
            }
        }
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct CancelResponse {}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HelloRequest {}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HelloResponse {
    /// The version of the agent.
    #[prost(string, tag = "1")]
    pub version: ::prost::alloc::string::String,
    /// The service's process.
    #[prost(uint32, tag = "2")]
    pub pid: u32,
    /// The user it runs as.
    #[prost(uint32, tag = "3")]
    pub uid: u32,
    /// The group it runs as.
    #[prost(uint32, tag = "4")]
    pub gid: u32,
    /// That user's home directory, if the environment names one.
    #[prost(string, tag = "5")]
    pub home: ::prost::alloc::string::String,
    /// Paths of the shells that are there, the preferred one first.
    #[prost(string, repeated, tag = "6")]
    pub shells: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Made up when the service starts, so that a client learns that it is another one.
    #[prost(string, tag = "7")]
    pub instance: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct PutFilesRequest {
    /// In the first message: the directory, which is made where it is missing.
    #[prost(string, tag = "1")]
    pub directory: ::prost::alloc::string::String,
    /// The next bytes of the archive, at most 64 KiB.
    #[prost(bytes = "vec", tag = "2")]
    pub data: ::prost::alloc::vec::Vec<u8>,
    /// Whether the archive ends with these bytes. What ends without is cut, and refused.
    #[prost(bool, tag = "3")]
    pub last: bool,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct PutFilesResponse {}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetFilesRequest {
    /// The directory.
    #[prost(string, tag = "1")]
    pub directory: ::prost::alloc::string::String,
    /// What to pack, relative to the directory. What is missing is left out.
    #[prost(string, repeated, tag = "2")]
    pub paths: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetFilesResponse {
    /// The next bytes of the archive, at most 64 KiB.
    #[prost(bytes = "vec", tag = "1")]
    pub data: ::prost::alloc::vec::Vec<u8>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct OwnRequest {
    /// The file or directory.
    #[prost(string, tag = "1")]
    pub path: ::prost::alloc::string::String,
    /// Its new user.
    #[prost(uint32, tag = "2")]
    pub uid: u32,
    /// Its new group.
    #[prost(uint32, tag = "3")]
    pub gid: u32,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct OwnResponse {}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FollowWishesRequest {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FollowWishesResponse {
    /// A wish that is open.
    #[prost(message, optional, tag = "1")]
    pub wish: ::core::option::Option<Wish>,
}
/// What a step needs from outside of the environment.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
#[prost(skip_debug)]
pub struct Wish {
    /// Its number in the request.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Where files are to be put, with `PutFiles`, in a directory in it that is new.
    #[prost(string, tag = "5")]
    pub directory: ::prost::alloc::string::String,
    /// Credentials of registries that the steps have set, as in the variable `DOCKER_AUTH_CONFIG`. Empty: none but those
    /// that the job has.
    #[prost(string, tag = "6")]
    pub docker_auth_config: ::prost::alloc::string::String,
    #[prost(oneof = "wish::What", tags = "2, 3, 4")]
    pub what: ::core::option::Option<wish::What>,
}
/// Nested message and enum types in `Wish`.
pub mod wish {
    /// All files of a git repository.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    #[prost(skip_debug)]
    pub struct Git {
        /// Where it is.
        #[prost(string, tag = "1")]
        pub url: ::prost::alloc::string::String,
        /// A tag, a branch or a commit.
        #[prost(string, tag = "2")]
        pub rev: ::prost::alloc::string::String,
    }
    /// All files of an image in a registry.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Oci {
        /// The registry's host, and its port.
        #[prost(string, tag = "1")]
        pub registry: ::prost::alloc::string::String,
        /// The image's name there.
        #[prost(string, tag = "2")]
        pub repository: ::prost::alloc::string::String,
        /// Its tag, or its digest.
        #[prost(string, tag = "3")]
        pub tag: ::prost::alloc::string::String,
        /// The operating system and the architecture that are wanted, `linux/amd64`.
        #[prost(string, tag = "4")]
        pub platform: ::prost::alloc::string::String,
    }
    /// An image is to be sent to a registry.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Publish {
        /// The file that holds it: an absolute path in the environment.
        #[prost(string, tag = "1")]
        pub archive: ::prost::alloc::string::String,
        /// Where it goes: `REGISTRY/REPOSITORY`.
        #[prost(string, tag = "2")]
        pub to_repository: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    #[prost(skip_debug)]
    pub enum What {
        #[prost(message, tag = "2")]
        Git(Git),
        #[prost(message, tag = "3")]
        Oci(Oci),
        #[prost(message, tag = "4")]
        Publish(Publish),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GrantRequest {
    /// The request.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// The wish.
    #[prost(uint64, tag = "2")]
    pub number: u64,
    #[prost(oneof = "grant_request::Outcome", tags = "3, 4, 5")]
    pub outcome: ::core::option::Option<grant_request::Outcome>,
}
/// Nested message and enum types in `GrantRequest`.
pub mod grant_request {
    /// Files are there.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Fetched {
        /// The name of the directory in that of the wish.
        #[prost(string, tag = "1")]
        pub directory: ::prost::alloc::string::String,
        /// The commit, or the image's digest.
        #[prost(string, tag = "2")]
        pub identity: ::prost::alloc::string::String,
    }
    /// An image was sent.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Published {
        /// Its digest.
        #[prost(string, tag = "1")]
        pub digest: ::prost::alloc::string::String,
        /// The tags that name it now.
        #[prost(string, repeated, tag = "2")]
        pub tags: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum Outcome {
        #[prost(message, tag = "3")]
        Fetched(Fetched),
        #[prost(message, tag = "4")]
        Published(Published),
        /// Why it cannot be met.
        #[prost(string, tag = "5")]
        Refused(::prost::alloc::string::String),
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GrantResponse {}
/// One step in a definition.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Step {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Where it comes from.
    #[prost(message, optional, tag = "2")]
    pub step: ::core::option::Option<step::Reference>,
    /// Its environment.
    #[prost(btree_map = "string, string", tag = "3")]
    pub env: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// Its inputs.
    #[prost(btree_map = "string, message", tag = "4")]
    pub inputs: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost_types::Value,
    >,
}
/// Nested message and enum types in `Step`.
pub mod step {
    /// Where the step comes from.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Reference {
        #[prost(enumeration = "super::StepReferenceProtocol", tag = "1")]
        pub protocol: i32,
        #[prost(string, tag = "2")]
        pub url: ::prost::alloc::string::String,
        #[prost(string, repeated, tag = "3")]
        pub path: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, tag = "4")]
        pub filename: ::prost::alloc::string::String,
        #[prost(string, tag = "5")]
        pub version: ::prost::alloc::string::String,
        #[prost(string, tag = "6")]
        pub registry: ::prost::alloc::string::String,
        #[prost(string, tag = "7")]
        pub repository: ::prost::alloc::string::String,
        #[prost(string, tag = "8")]
        pub tag: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "9")]
        pub spec_def: ::core::option::Option<super::SpecDefinition>,
        #[prost(oneof = "reference::StepPath", tags = "10, 11")]
        pub step_path: ::core::option::Option<reference::StepPath>,
    }
    /// Nested message and enum types in `Reference`.
    pub mod reference {
        #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
        pub struct PathParts {
            #[prost(string, repeated, tag = "1")]
            pub parts: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        }
        #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
        pub enum StepPath {
            #[prost(string, tag = "10")]
            PathExp(::prost::alloc::string::String),
            #[prost(message, tag = "11")]
            Paths(PathParts),
        }
    }
}
/// What a step does.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Definition {
    #[prost(enumeration = "DefinitionType", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub exec: ::core::option::Option<definition::Exec>,
    #[prost(message, repeated, tag = "3")]
    pub steps: ::prost::alloc::vec::Vec<Step>,
    #[prost(btree_map = "string, message", tag = "4")]
    pub outputs: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost_types::Value,
    >,
    #[prost(btree_map = "string, string", tag = "5")]
    pub env: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    #[prost(string, tag = "6")]
    pub delegate: ::prost::alloc::string::String,
}
/// Nested message and enum types in `Definition`.
pub mod definition {
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Exec {
        #[prost(string, repeated, tag = "1")]
        pub command: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, tag = "2")]
        pub work_dir: ::prost::alloc::string::String,
    }
}
/// What a step takes and gives.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Spec {
    #[prost(message, optional, tag = "1")]
    pub spec: ::core::option::Option<spec::Content>,
}
/// Nested message and enum types in `Spec`.
pub mod spec {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Content {
        #[prost(btree_map = "string, message", tag = "1")]
        pub inputs: ::prost::alloc::collections::BTreeMap<
            ::prost::alloc::string::String,
            content::Input,
        >,
        #[prost(btree_map = "string, message", tag = "2")]
        pub outputs: ::prost::alloc::collections::BTreeMap<
            ::prost::alloc::string::String,
            content::Output,
        >,
        #[prost(enumeration = "OutputMethod", tag = "3")]
        pub output_method: i32,
    }
    /// Nested message and enum types in `Content`.
    pub mod content {
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct Input {
            #[prost(enumeration = "super::super::ValueType", tag = "1")]
            pub r#type: i32,
            #[prost(message, optional, tag = "2")]
            pub default: ::core::option::Option<::prost_types::Value>,
            #[prost(bool, tag = "3")]
            pub sensitive: bool,
        }
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct Output {
            #[prost(enumeration = "super::super::ValueType", tag = "1")]
            pub r#type: i32,
            #[prost(message, optional, tag = "2")]
            pub default: ::core::option::Option<::prost_types::Value>,
            #[prost(bool, tag = "3")]
            pub sensitive: bool,
        }
    }
    #[derive(
        Clone,
        Copy,
        Debug,
        PartialEq,
        Eq,
        Hash,
        PartialOrd,
        Ord,
        ::prost::Enumeration
    )]
    #[repr(i32)]
    pub enum OutputMethod {
        Unspecified = 0,
        Outputs = 1,
        Delegate = 2,
    }
    impl OutputMethod {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "OUTPUT_METHOD_UNSPECIFIED",
                Self::Outputs => "OUTPUT_METHOD_OUTPUTS",
                Self::Delegate => "OUTPUT_METHOD_DELEGATE",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "OUTPUT_METHOD_UNSPECIFIED" => Some(Self::Unspecified),
                "OUTPUT_METHOD_OUTPUTS" => Some(Self::Outputs),
                "OUTPUT_METHOD_DELEGATE" => Some(Self::Delegate),
                _ => None,
            }
        }
    }
}
/// Both documents of a step.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SpecDefinition {
    #[prost(message, optional, tag = "1")]
    pub spec: ::core::option::Option<Spec>,
    #[prost(message, optional, tag = "2")]
    pub definition: ::core::option::Option<Definition>,
}
/// A step of a request as it is, or was at its end.
#[derive(Clone, PartialEq, ::prost::Message)]
#[prost(skip_debug)]
pub struct StepResult {
    /// The step, with its expressions expanded.
    #[prost(message, optional, tag = "1")]
    pub step: ::core::option::Option<Step>,
    /// The step as it was written.
    #[prost(message, optional, tag = "2")]
    pub spec_definition: ::core::option::Option<SpecDefinition>,
    /// How it is.
    #[prost(enumeration = "step_result::Status", tag = "4")]
    pub status: i32,
    #[prost(btree_map = "string, message", tag = "5")]
    pub outputs: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost_types::Value,
    >,
    #[prost(btree_map = "string, string", tag = "6")]
    pub exports: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// Its environment.
    #[prost(btree_map = "string, string", tag = "7")]
    pub env: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// Its process, once that has ended.
    #[prost(message, optional, tag = "8")]
    pub exec_result: ::core::option::Option<step_result::ExecResult>,
    /// Its own steps.
    #[prost(message, repeated, tag = "9")]
    pub sub_step_results: ::prost::alloc::vec::Vec<StepResult>,
}
/// Nested message and enum types in `StepResult`.
pub mod step_result {
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct ExecResult {
        #[prost(string, repeated, tag = "1")]
        pub command: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, tag = "2")]
        pub work_dir: ::prost::alloc::string::String,
        #[prost(int32, tag = "3")]
        pub exit_code: i32,
    }
    #[derive(
        Clone,
        Copy,
        Debug,
        PartialEq,
        Eq,
        Hash,
        PartialOrd,
        Ord,
        ::prost::Enumeration
    )]
    #[repr(i32)]
    pub enum Status {
        Unspecified = 0,
        Running = 1,
        Success = 2,
        Failure = 3,
        Cancelled = 4,
    }
    impl Status {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "STATUS_UNSPECIFIED",
                Self::Running => "STATUS_RUNNING",
                Self::Success => "STATUS_SUCCESS",
                Self::Failure => "STATUS_FAILURE",
                Self::Cancelled => "STATUS_CANCELLED",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "STATUS_UNSPECIFIED" => Some(Self::Unspecified),
                "STATUS_RUNNING" => Some(Self::Running),
                "STATUS_SUCCESS" => Some(Self::Success),
                "STATUS_FAILURE" => Some(Self::Failure),
                "STATUS_CANCELLED" => Some(Self::Cancelled),
                _ => None,
            }
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum StepReferenceProtocol {
    Unspecified = 0,
    Local = 1,
    Git = 2,
    Zip = 3,
    Oci = 4,
    Dist = 5,
    Dynamic = 6,
    SpecDef = 7,
}
impl StepReferenceProtocol {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Unspecified => "STEP_REFERENCE_PROTOCOL_UNSPECIFIED",
            Self::Local => "STEP_REFERENCE_PROTOCOL_LOCAL",
            Self::Git => "STEP_REFERENCE_PROTOCOL_GIT",
            Self::Zip => "STEP_REFERENCE_PROTOCOL_ZIP",
            Self::Oci => "STEP_REFERENCE_PROTOCOL_OCI",
            Self::Dist => "STEP_REFERENCE_PROTOCOL_DIST",
            Self::Dynamic => "STEP_REFERENCE_PROTOCOL_DYNAMIC",
            Self::SpecDef => "STEP_REFERENCE_PROTOCOL_SPEC_DEF",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "STEP_REFERENCE_PROTOCOL_UNSPECIFIED" => Some(Self::Unspecified),
            "STEP_REFERENCE_PROTOCOL_LOCAL" => Some(Self::Local),
            "STEP_REFERENCE_PROTOCOL_GIT" => Some(Self::Git),
            "STEP_REFERENCE_PROTOCOL_ZIP" => Some(Self::Zip),
            "STEP_REFERENCE_PROTOCOL_OCI" => Some(Self::Oci),
            "STEP_REFERENCE_PROTOCOL_DIST" => Some(Self::Dist),
            "STEP_REFERENCE_PROTOCOL_DYNAMIC" => Some(Self::Dynamic),
            "STEP_REFERENCE_PROTOCOL_SPEC_DEF" => Some(Self::SpecDef),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum DefinitionType {
    Unspecified = 0,
    Exec = 1,
    Steps = 2,
}
impl DefinitionType {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Unspecified => "DEFINITION_TYPE_UNSPECIFIED",
            Self::Exec => "DEFINITION_TYPE_EXEC",
            Self::Steps => "DEFINITION_TYPE_STEPS",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "DEFINITION_TYPE_UNSPECIFIED" => Some(Self::Unspecified),
            "DEFINITION_TYPE_EXEC" => Some(Self::Exec),
            "DEFINITION_TYPE_STEPS" => Some(Self::Steps),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum ValueType {
    Unspecified = 0,
    String = 2,
    Number = 3,
    Boolean = 4,
    Struct = 5,
    Array = 6,
}
impl ValueType {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Unspecified => "VALUE_TYPE_UNSPECIFIED",
            Self::String => "VALUE_TYPE_STRING",
            Self::Number => "VALUE_TYPE_NUMBER",
            Self::Boolean => "VALUE_TYPE_BOOLEAN",
            Self::Struct => "VALUE_TYPE_STRUCT",
            Self::Array => "VALUE_TYPE_ARRAY",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "VALUE_TYPE_UNSPECIFIED" => Some(Self::Unspecified),
            "VALUE_TYPE_STRING" => Some(Self::String),
            "VALUE_TYPE_NUMBER" => Some(Self::Number),
            "VALUE_TYPE_BOOLEAN" => Some(Self::Boolean),
            "VALUE_TYPE_STRUCT" => Some(Self::Struct),
            "VALUE_TYPE_ARRAY" => Some(Self::Array),
            _ => None,
        }
    }
}
/// Generated client implementations.
pub mod step_runner_client {
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Runs steps inside an execution environment. All calls but `Status` and `Hello` may be repeated without harm.
    #[derive(Debug, Clone)]
    pub struct StepRunnerClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl<T> StepRunnerClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> StepRunnerClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            StepRunnerClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Starts a request and returns at once. A known id succeeds and starts nothing.
        pub async fn run(
            &mut self,
            request: impl tonic::IntoRequest<super::RunRequest>,
        ) -> std::result::Result<tonic::Response<super::RunResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Run",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Run"));
            self.inner.unary(req, path, codec).await
        }
        /// Tells each change of state of each step, from the first one on, until the request has ended.
        pub async fn follow_steps(
            &mut self,
            request: impl tonic::IntoRequest<super::FollowStepsRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::FollowStepsResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/FollowSteps",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "FollowSteps"));
            self.inner.server_streaming(req, path, codec).await
        }
        /// Gives the bytes of the log from an offset on, until the request has ended.
        pub async fn follow_logs(
            &mut self,
            request: impl tonic::IntoRequest<super::FollowLogsRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::FollowLogsResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/FollowLogs",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "FollowLogs"));
            self.inner.server_streaming(req, path, codec).await
        }
        /// Stops a request if it still runs, and forgets it. An unknown id succeeds.
        pub async fn finish(
            &mut self,
            request: impl tonic::IntoRequest<super::FinishRequest>,
        ) -> std::result::Result<tonic::Response<super::FinishResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Finish",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Finish"));
            self.inner.unary(req, path, codec).await
        }
        /// Tells how one request is, or all of them.
        pub async fn status(
            &mut self,
            request: impl tonic::IntoRequest<super::StatusRequest>,
        ) -> std::result::Result<tonic::Response<super::StatusResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Status",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Status"));
            self.inner.unary(req, path, codec).await
        }
        /// Asks a request to stop. It stays known, with its log and its result, until `Finish`.
        pub async fn cancel(
            &mut self,
            request: impl tonic::IntoRequest<super::CancelRequest>,
        ) -> std::result::Result<tonic::Response<super::CancelResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Cancel",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Cancel"));
            self.inner.unary(req, path, codec).await
        }
        /// Tells about the service and the environment it is in.
        pub async fn hello(
            &mut self,
            request: impl tonic::IntoRequest<super::HelloRequest>,
        ) -> std::result::Result<tonic::Response<super::HelloResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Hello",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Hello"));
            self.inner.unary(req, path, codec).await
        }
        /// Unpacks a tar archive below a directory.
        pub async fn put_files(
            &mut self,
            request: impl tonic::IntoStreamingRequest<Message = super::PutFilesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::PutFilesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/PutFiles",
            );
            let mut req = request.into_streaming_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "PutFiles"));
            self.inner.client_streaming(req, path, codec).await
        }
        /// Packs files into a tar archive.
        pub async fn get_files(
            &mut self,
            request: impl tonic::IntoRequest<super::GetFilesRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::GetFilesResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/GetFiles",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "GetFiles"));
            self.inner.server_streaming(req, path, codec).await
        }
        /// Gives a file tree to an owner, without following links.
        pub async fn own(
            &mut self,
            request: impl tonic::IntoRequest<super::OwnRequest>,
        ) -> std::result::Result<tonic::Response<super::OwnResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Own",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Own"));
            self.inner.unary(req, path, codec).await
        }
        /// Tells what the steps of a request need from outside of the environment, until the request has ended. Whoever follows
        /// late is told all that is still open.
        pub async fn follow_wishes(
            &mut self,
            request: impl tonic::IntoRequest<super::FollowWishesRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::FollowWishesResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/FollowWishes",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("runwright.steps.v1.StepRunner", "FollowWishes"),
                );
            self.inner.server_streaming(req, path, codec).await
        }
        /// Says how a wish was met. The first answer counts.
        pub async fn grant(
            &mut self,
            request: impl tonic::IntoRequest<super::GrantRequest>,
        ) -> std::result::Result<tonic::Response<super::GrantResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/runwright.steps.v1.StepRunner/Grant",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("runwright.steps.v1.StepRunner", "Grant"));
            self.inner.unary(req, path, codec).await
        }
    }
}
/// Generated server implementations.
pub mod step_runner_server {
    use tonic::codegen::*;
    /// Generated trait containing gRPC methods that should be implemented for use with StepRunnerServer.
    #[async_trait]
    pub trait StepRunner: std::marker::Send + std::marker::Sync + 'static {
        /// Starts a request and returns at once. A known id succeeds and starts nothing.
        async fn run(
            &self,
            request: tonic::Request<super::RunRequest>,
        ) -> std::result::Result<tonic::Response<super::RunResponse>, tonic::Status>;
        /// Server streaming response type for the FollowSteps method.
        type FollowStepsStream: tonic::codegen::tokio_stream::Stream<
                Item = std::result::Result<super::FollowStepsResponse, tonic::Status>,
            >
            + std::marker::Send
            + 'static;
        /// Tells each change of state of each step, from the first one on, until the request has ended.
        async fn follow_steps(
            &self,
            request: tonic::Request<super::FollowStepsRequest>,
        ) -> std::result::Result<
            tonic::Response<Self::FollowStepsStream>,
            tonic::Status,
        >;
        /// Server streaming response type for the FollowLogs method.
        type FollowLogsStream: tonic::codegen::tokio_stream::Stream<
                Item = std::result::Result<super::FollowLogsResponse, tonic::Status>,
            >
            + std::marker::Send
            + 'static;
        /// Gives the bytes of the log from an offset on, until the request has ended.
        async fn follow_logs(
            &self,
            request: tonic::Request<super::FollowLogsRequest>,
        ) -> std::result::Result<tonic::Response<Self::FollowLogsStream>, tonic::Status>;
        /// Stops a request if it still runs, and forgets it. An unknown id succeeds.
        async fn finish(
            &self,
            request: tonic::Request<super::FinishRequest>,
        ) -> std::result::Result<tonic::Response<super::FinishResponse>, tonic::Status>;
        /// Tells how one request is, or all of them.
        async fn status(
            &self,
            request: tonic::Request<super::StatusRequest>,
        ) -> std::result::Result<tonic::Response<super::StatusResponse>, tonic::Status>;
        /// Asks a request to stop. It stays known, with its log and its result, until `Finish`.
        async fn cancel(
            &self,
            request: tonic::Request<super::CancelRequest>,
        ) -> std::result::Result<tonic::Response<super::CancelResponse>, tonic::Status>;
        /// Tells about the service and the environment it is in.
        async fn hello(
            &self,
            request: tonic::Request<super::HelloRequest>,
        ) -> std::result::Result<tonic::Response<super::HelloResponse>, tonic::Status>;
        /// Unpacks a tar archive below a directory.
        async fn put_files(
            &self,
            request: tonic::Request<tonic::Streaming<super::PutFilesRequest>>,
        ) -> std::result::Result<
            tonic::Response<super::PutFilesResponse>,
            tonic::Status,
        >;
        /// Server streaming response type for the GetFiles method.
        type GetFilesStream: tonic::codegen::tokio_stream::Stream<
                Item = std::result::Result<super::GetFilesResponse, tonic::Status>,
            >
            + std::marker::Send
            + 'static;
        /// Packs files into a tar archive.
        async fn get_files(
            &self,
            request: tonic::Request<super::GetFilesRequest>,
        ) -> std::result::Result<tonic::Response<Self::GetFilesStream>, tonic::Status>;
        /// Gives a file tree to an owner, without following links.
        async fn own(
            &self,
            request: tonic::Request<super::OwnRequest>,
        ) -> std::result::Result<tonic::Response<super::OwnResponse>, tonic::Status>;
        /// Server streaming response type for the FollowWishes method.
        type FollowWishesStream: tonic::codegen::tokio_stream::Stream<
                Item = std::result::Result<super::FollowWishesResponse, tonic::Status>,
            >
            + std::marker::Send
            + 'static;
        /// Tells what the steps of a request need from outside of the environment, until the request has ended. Whoever follows
        /// late is told all that is still open.
        async fn follow_wishes(
            &self,
            request: tonic::Request<super::FollowWishesRequest>,
        ) -> std::result::Result<
            tonic::Response<Self::FollowWishesStream>,
            tonic::Status,
        >;
        /// Says how a wish was met. The first answer counts.
        async fn grant(
            &self,
            request: tonic::Request<super::GrantRequest>,
        ) -> std::result::Result<tonic::Response<super::GrantResponse>, tonic::Status>;
    }
    /// Runs steps inside an execution environment. All calls but `Status` and `Hello` may be repeated without harm.
    #[derive(Debug)]
    pub struct StepRunnerServer<T> {
        inner: Arc<T>,
        accept_compression_encodings: EnabledCompressionEncodings,
        send_compression_encodings: EnabledCompressionEncodings,
        max_decoding_message_size: Option<usize>,
        max_encoding_message_size: Option<usize>,
    }
    impl<T> StepRunnerServer<T> {
        pub fn new(inner: T) -> Self {
            Self::from_arc(Arc::new(inner))
        }
        pub fn from_arc(inner: Arc<T>) -> Self {
            Self {
                inner,
                accept_compression_encodings: Default::default(),
                send_compression_encodings: Default::default(),
                max_decoding_message_size: None,
                max_encoding_message_size: None,
            }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> InterceptedService<Self, F>
        where
            F: tonic::service::Interceptor,
        {
            InterceptedService::new(Self::new(inner), interceptor)
        }
        /// Enable decompressing requests with the given encoding.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.accept_compression_encodings.enable(encoding);
            self
        }
        /// Compress responses with the given encoding, if the client supports it.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.send_compression_encodings.enable(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.max_decoding_message_size = Some(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.max_encoding_message_size = Some(limit);
            self
        }
    }
    impl<T, B> tonic::codegen::Service<http::Request<B>> for StepRunnerServer<T>
    where
        T: StepRunner,
        B: Body + std::marker::Send + 'static,
        B::Error: Into<StdError> + std::marker::Send + 'static,
    {
        type Response = http::Response<tonic::body::Body>;
        type Error = std::convert::Infallible;
        type Future = BoxFuture<Self::Response, Self::Error>;
        fn poll_ready(
            &mut self,
            _cx: &mut Context<'_>,
        ) -> Poll<std::result::Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, req: http::Request<B>) -> Self::Future {
            match req.uri().path() {
                "/runwright.steps.v1.StepRunner/Run" => {
                    struct RunSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::RunRequest>
                    for RunSvc<T> {
                        type Response = super::RunResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::RunRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::run(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = RunSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/FollowSteps" => {
                    struct FollowStepsSvc<T: StepRunner>(pub Arc<T>);
                    impl<
                        T: StepRunner,
                    > tonic::server::ServerStreamingService<super::FollowStepsRequest>
                    for FollowStepsSvc<T> {
                        type Response = super::FollowStepsResponse;
                        type ResponseStream = T::FollowStepsStream;
                        type Future = BoxFuture<
                            tonic::Response<Self::ResponseStream>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::FollowStepsRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::follow_steps(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = FollowStepsSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.server_streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/FollowLogs" => {
                    struct FollowLogsSvc<T: StepRunner>(pub Arc<T>);
                    impl<
                        T: StepRunner,
                    > tonic::server::ServerStreamingService<super::FollowLogsRequest>
                    for FollowLogsSvc<T> {
                        type Response = super::FollowLogsResponse;
                        type ResponseStream = T::FollowLogsStream;
                        type Future = BoxFuture<
                            tonic::Response<Self::ResponseStream>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::FollowLogsRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::follow_logs(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = FollowLogsSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.server_streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/Finish" => {
                    struct FinishSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::FinishRequest>
                    for FinishSvc<T> {
                        type Response = super::FinishResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::FinishRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::finish(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = FinishSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/Status" => {
                    struct StatusSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::StatusRequest>
                    for StatusSvc<T> {
                        type Response = super::StatusResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::StatusRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::status(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = StatusSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/Cancel" => {
                    struct CancelSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::CancelRequest>
                    for CancelSvc<T> {
                        type Response = super::CancelResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::CancelRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::cancel(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = CancelSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/Hello" => {
                    struct HelloSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::HelloRequest>
                    for HelloSvc<T> {
                        type Response = super::HelloResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::HelloRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::hello(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = HelloSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/PutFiles" => {
                    struct PutFilesSvc<T: StepRunner>(pub Arc<T>);
                    impl<
                        T: StepRunner,
                    > tonic::server::ClientStreamingService<super::PutFilesRequest>
                    for PutFilesSvc<T> {
                        type Response = super::PutFilesResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<
                                tonic::Streaming<super::PutFilesRequest>,
                            >,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::put_files(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = PutFilesSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.client_streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/GetFiles" => {
                    struct GetFilesSvc<T: StepRunner>(pub Arc<T>);
                    impl<
                        T: StepRunner,
                    > tonic::server::ServerStreamingService<super::GetFilesRequest>
                    for GetFilesSvc<T> {
                        type Response = super::GetFilesResponse;
                        type ResponseStream = T::GetFilesStream;
                        type Future = BoxFuture<
                            tonic::Response<Self::ResponseStream>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::GetFilesRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::get_files(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = GetFilesSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.server_streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/Own" => {
                    struct OwnSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::OwnRequest>
                    for OwnSvc<T> {
                        type Response = super::OwnResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::OwnRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::own(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = OwnSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/FollowWishes" => {
                    struct FollowWishesSvc<T: StepRunner>(pub Arc<T>);
                    impl<
                        T: StepRunner,
                    > tonic::server::ServerStreamingService<super::FollowWishesRequest>
                    for FollowWishesSvc<T> {
                        type Response = super::FollowWishesResponse;
                        type ResponseStream = T::FollowWishesStream;
                        type Future = BoxFuture<
                            tonic::Response<Self::ResponseStream>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::FollowWishesRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::follow_wishes(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = FollowWishesSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.server_streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/runwright.steps.v1.StepRunner/Grant" => {
                    struct GrantSvc<T: StepRunner>(pub Arc<T>);
                    impl<T: StepRunner> tonic::server::UnaryService<super::GrantRequest>
                    for GrantSvc<T> {
                        type Response = super::GrantResponse;
                        type Future = BoxFuture<
                            tonic::Response<Self::Response>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<super::GrantRequest>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StepRunner>::grant(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = GrantSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                _ => {
                    Box::pin(async move {
                        let mut response = http::Response::new(
                            tonic::body::Body::default(),
                        );
                        let headers = response.headers_mut();
                        headers
                            .insert(
                                tonic::Status::GRPC_STATUS,
                                (tonic::Code::Unimplemented as i32).into(),
                            );
                        headers
                            .insert(
                                http::header::CONTENT_TYPE,
                                tonic::metadata::GRPC_CONTENT_TYPE,
                            );
                        Ok(response)
                    })
                }
            }
        }
    }
    impl<T> Clone for StepRunnerServer<T> {
        fn clone(&self) -> Self {
            let inner = self.inner.clone();
            Self {
                inner,
                accept_compression_encodings: self.accept_compression_encodings,
                send_compression_encodings: self.send_compression_encodings,
                max_decoding_message_size: self.max_decoding_message_size,
                max_encoding_message_size: self.max_encoding_message_size,
            }
        }
    }
    /// Generated gRPC service name
    pub const SERVICE_NAME: &str = "runwright.steps.v1.StepRunner";
    impl<T> tonic::server::NamedService for StepRunnerServer<T> {
        const NAME: &'static str = SERVICE_NAME;
    }
}
