use super::stdout::print;
use crate::args::InitArgs;
use crate::failure::{Exit, Failure};
use crate::starter::{Starter, starter};
use anyhow::{Context, anyhow};
use console::{print_notes, shown_name};
use fail_point::fail_point;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use workstation::{BITRAB_FILE, DEFAULT_FILE, LocalProject, is_in_repository};

/// Writes a first pipeline file, or shows it.
pub(crate) fn init(args: &InitArgs) -> Result<Exit, Failure> {
    let directory = args.place.cwd.as_deref().unwrap_or(Path::new("."));
    let project = LocalProject::find(directory, None)?;
    let root = project.root();
    let starter = starter(root);
    if args.print {
        print(&starter.text)?;
        return Ok(Exit::Success);
    }
    for name in [BITRAB_FILE, DEFAULT_FILE]
        .map(Path::new)
        .iter()
        .chain([&project.file()])
    {
        if fs::symlink_metadata(root.join(name)).is_ok_and(|it| !is_blank(&it)) {
            let error = anyhow!("{} already exists", name.display());
            return Err(Failure::usage(error)
                .with_help("`runwright init --print` shows what would be written"));
        }
    }
    if !is_in_repository(root) {
        let error = anyhow!("{} is not inside a git repository", root.display());
        return Err(Failure::usage(error)
            .with_help("`git init` makes one: jobs see the commit they run for"));
    }
    let path = root.join(DEFAULT_FILE);
    let written = fail_point!("cli::init::write", write(&path, &starter.text));
    written
        .with_context(|| format!("write {}", path.display()))
        .map_err(Failure::environment)?;
    print(told(&path, &starter))?;
    if let [first, rest @ ..] = starter.others.as_slice() {
        let others = rest
            .iter()
            .fold((*first).to_owned(), |all, it| all + ", " + it);
        print_notes([&format!("there is also {others}: add jobs for that")]);
    }
    Ok(Exit::Success)
}

fn told(path: &Path, starter: &Starter) -> String {
    let whose = match starter.sign {
        Some(sign) => format!("for {sign}"),
        None => "to begin with".to_owned(),
    };
    let path = shown_name(&path.display().to_string());
    format!(
        "wrote {path} {whose}\n\n  runwright list    shows its jobs\n  runwright run     runs them, with the current files\n  runwright lint    checks the file after a change\n"
    )
}

/// Returns whether a file is empty, as an interrupted write leaves it.
fn is_blank(file: &fs::Metadata) -> bool {
    file.is_file() && file.len() == 0
}

/// Writes a file that is missing or empty; removes it if the write fails.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}
