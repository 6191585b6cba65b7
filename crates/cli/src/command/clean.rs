use super::engine_garbage;
use super::project_runs::ProjectRuns;
use super::stdout::print;
use crate::args::CleanArgs;
use crate::failure::{Exit, Failure};
use anyhow::anyhow;
use console::{counted, error_line, shown_name, size, strip_controls};
use jiff::Timestamp;
use pipeline::config::parse_duration;
use std::fmt::Write;
use std::time::Duration;
use workstation::{Cleaning, Fate, LocalError, Removable, RemovableKind, Settings};

/// Removes leftovers of runs, or lists them with their sizes.
pub(crate) fn clean(args: &CleanArgs) -> Result<Exit, Failure> {
    let past = ProjectRuns::find(&args.place)?;
    let asks = args.runs || args.artifacts || args.cache || args.reuse || args.all;
    if args.docker {
        let settings = Settings::read(past.state.path(), std::env::home_dir().as_deref());
        let settings = settings.map_err(LocalError::from)?;
        engine_garbage::clean(&settings, &past.state, age(args)?, args.dry_run)?;
        if !asks {
            return Ok(Exit::Success);
        }
    }
    let cleaning = Cleaning {
        state: &past.state,
        project: (!args.all).then_some(&past.project),
        before: before(args)?,
        // Without an option that selects what to remove, nothing is removed.
        dry_run: args.dry_run || !asks,
    };
    let mut found = Vec::new();
    if args.cache || args.all || !asks {
        found.extend(cleaning.caches()?);
        found.extend(cleaning.functions()?);
    }
    if args.reuse || args.all || !asks {
        found.extend(cleaning.reuse()?);
    }
    let all_of_runs = args.runs || args.all || !asks;
    if all_of_runs {
        found.extend(cleaning.runs()?);
    } else if args.artifacts {
        found.extend(cleaning.artifacts()?);
    }
    print(text(&found, args, cleaning.dry_run))?;
    if !asks && !found.is_empty() {
        error_line("nothing is removed without --runs, --artifacts, --cache, --reuse or --all");
    }
    for removable in &found {
        if let Fate::Stays(why) = &removable.fate {
            let what = what(removable);
            error_line(&strip_controls(&format!(
                "error: {what} cannot be removed: {why}"
            )));
        }
    }
    let stays = found.iter().any(|it| matches!(it.fate, Fate::Stays(_)));
    Ok(if stays {
        Exit::Environment
    } else {
        Exit::Success
    })
}

/// Returns the latest end time of runs that may be removed.
fn before(args: &CleanArgs) -> Result<Option<Timestamp>, Failure> {
    // An age before the first representable time matches nothing.
    let before = |age| Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
    Ok(age(args)?.map(before))
}

/// Returns the minimum age of what may be removed.
fn age(args: &CleanArgs) -> Result<Option<Duration>, Failure> {
    let Some(text) = &args.older_than else {
        return Ok(None);
    };
    let age = parse_duration(text).ok_or_else(|| {
        Failure::usage(anyhow!(
            "invalid --older-than {text:?}: expected a duration such as \"14 days\""
        ))
        .with_help("write it as `2 days` or `1 week`")
    })?;
    Ok(Some(age))
}

fn text(found: &[Removable], args: &CleanArgs, dry_run: bool) -> String {
    let mut text = String::new();
    for removable in found {
        let fate = match removable.fate {
            Fate::Seen => "would go",
            Fate::Removed => "removed",
            Fate::InUse => "in use",
            Fate::Stays(_) => "stays",
        };
        let _ = write!(
            text,
            "{fate}  {}  {}",
            what(removable),
            size(removable.bytes)
        );
        if args.all
            && let Some(project) = &removable.project
        {
            let project = strip_controls(&project.display().to_string());
            let _ = write!(text, "  {project}");
        }
        text.push('\n');
    }
    let goes = |it: &&Removable| matches!(it.fate, Fate::Seen | Fate::Removed);
    let bytes = found.iter().filter(goes).map(|it| it.bytes).sum();
    let count = counted(found.iter().filter(goes).count(), "thing");
    let verb = if dry_run { "could go" } else { "removed" };
    let _ = writeln!(text, "{count} {verb}, {}", size(bytes));
    text
}

fn what(removable: &Removable) -> String {
    let name = shown_name(&removable.name);
    match removable.kind {
        RemovableKind::Run => format!("run {name}"),
        RemovableKind::Artifacts => format!("artifacts of run {name}"),
        RemovableKind::Cache => format!("cache {name}"),
        RemovableKind::Reuse => format!("kept job {name}"),
        RemovableKind::Functions => format!("functions {name}"),
    }
}
