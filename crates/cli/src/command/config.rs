use super::parallel::Parallel;
use super::stdout::{print, print_json};
use crate::args::{
    Command, ConfigAction, ConfigArgs, ConfigInitArgs, ConfigSchemaArgs, ConfigShowArgs,
};
use crate::failure::{Exit, Failure};
use crate::parsed_args::{ParsedArgs, read};
use anyhow::anyhow;
use console::{columns, strip_controls};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use workstation::{
    LayeredValue, LocalError, LocalProject, SettingOrigin, SettingsError, SettingsFile, StateDir,
};

/// Shows the settings, or helps to write them.
pub(crate) fn config(args: &ConfigArgs) -> Result<Exit, Failure> {
    match &args.action {
        ConfigAction::Show(args) => show(args),
        ConfigAction::Init(args) => init(args),
        ConfigAction::Schema(args) => schema(args),
    }
}

fn show(args: &ConfigShowArgs) -> Result<Exit, Failure> {
    let directory = args.place.cwd.as_deref().unwrap_or(Path::new("."));
    let project = LocalProject::find(directory, None)?;
    let words = ["runwright", "run"].into_iter();
    let words = words.chain(args.options.iter().map(String::as_str));
    let parsed = ParsedArgs::parse(words).map_err(|error| {
        let first = error
            .to_string()
            .lines()
            .next()
            .map(str::to_owned)
            .unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(&first);
        Failure::usage(anyhow!("{message}"))
            .with_help("options of `runwright run` follow `--`, for example `-- --serial`")
    })?;
    if let Command::Run(args) = &parsed.command {
        Parallel::check(args)?;
    }
    let mut settings = read(directory)?;
    for (option, values) in parsed.given() {
        let read = settings.with_option(&option, &values);
        settings = read.map_err(LocalError::Settings)?;
    }
    let all = settings.all(&|option| parsed.says(option));
    if args.json {
        let records: Vec<Value> = all.iter().map(record).collect();
        print_json(&records)?;
        return Ok(Exit::Success);
    }
    let mut text = String::new();
    if args.origin {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        for (whose, file, init) in [
            ("your", SettingsFile::User, "config init"),
            (
                "the project's",
                SettingsFile::Project,
                "config init --project",
            ),
        ] {
            let path = file.path(&state, project.root());
            let absent = if path.exists() {
                String::new()
            } else {
                format!(" (there is none; `runwright {init}` writes one)")
            };
            let path = strip_controls(&path.display().to_string());
            let _ = writeln!(text, "# {whose} file: {path}{absent}");
        }
        text.push('\n');
    }
    text += &lines(&all, args.origin);
    print(text)?;
    Ok(Exit::Success)
}

/// Returns a line for each setting.
fn lines(all: &[LayeredValue], with_origin: bool) -> String {
    let line = |said: &LayeredValue| strip_controls(&format!("{} = {}", said.name(), said.value));
    let lines: Vec<String> = all.iter().map(line).collect();
    let width = lines
        .iter()
        .map(|line| columns(line))
        .filter(|it| *it <= WIDEST)
        .max();
    let mut text = String::new();
    for (line, said) in lines.iter().zip(all) {
        text += line;
        if with_origin {
            let gap = width.unwrap_or_default().saturating_sub(columns(line)) + 2;
            let origin = strip_controls(&said.origin.to_string());
            let _ = write!(text, "{:gap$}# {origin}", "");
        }
        text.push('\n');
    }
    text
}

/// Lines longer than this do not widen the column of origins.
const WIDEST: usize = 60;

fn record(said: &LayeredValue) -> Value {
    let origin = match &said.origin {
        SettingOrigin::BuiltIn => json!({"kind": "built-in"}),
        SettingOrigin::Variable(name) => json!({"kind": "variable", "variable": name}),
        SettingOrigin::Option(name) => json!({"kind": "option", "option": format!("--{name}")}),
        SettingOrigin::User(place) | SettingOrigin::Project(place) => json!({
            "kind": if matches!(said.origin, SettingOrigin::User(_)) { "user" } else { "project" },
            "file": place.file,
            "line": place.line,
            "column": place.column,
        }),
    };
    json!({"name": said.name(), "value": said.value, "origin": origin})
}

fn init(args: &ConfigInitArgs) -> Result<Exit, Failure> {
    let directory = args.place.cwd.as_deref().unwrap_or(Path::new("."));
    let project = LocalProject::find(directory, None)?;
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let file = if args.project {
        SettingsFile::Project
    } else {
        SettingsFile::User
    };
    let failed = |error: SettingsError| Failure::from(LocalError::Settings(error));
    let path: PathBuf = file.init(&state, project.root()).map_err(failed)?;
    let path = strip_controls(&path.display().to_string());
    print(format!("wrote {path}; every line is a comment\n"))?;
    Ok(Exit::Success)
}

fn schema(args: &ConfigSchemaArgs) -> Result<Exit, Failure> {
    let file = if args.user {
        SettingsFile::User
    } else {
        SettingsFile::Project
    };
    print_json(&file.schema())?;
    Ok(Exit::Success)
}
