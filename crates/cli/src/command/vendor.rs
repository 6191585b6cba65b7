use super::pipeline_options::{find_project, pipeline_options};
use super::stdout::print;
use crate::args::VendorArgs;
use crate::failure::{Exit, Failure};
use console::{counted, print_diagnostics, print_notes};
use includes::{LockFile, Written};
use workstation::{LocalProject, PipelineOptions, Vendor, VendorError};

const NOTHING: &str = "nothing to lock: the pipeline includes no file from a server\n";

/// Writes or checks the lock file of the pipeline's remote files.
pub(crate) fn vendor(args: &VendorArgs) -> Result<Exit, Failure> {
    if args.project.remote.demands_api() {
        let error = anyhow::anyhow!("a file that GitLab resolves cannot be locked");
        let help = "leave out --prefer-api to lock the included files";
        return Err(Failure::usage(error).with_help(help));
    }
    let project = find_project(&args.project)?;
    let options = pipeline_options(&args.project)?;
    if args.check {
        return check(&project, &options);
    }
    let vendor = match Vendor::ask(&project, &options)
        .map_err(failure)?
        .into_result()
    {
        Ok((vendor, warnings)) => {
            print_diagnostics(&warnings);
            vendor
        }
        Err(found) => {
            print_diagnostics(&found);
            return Ok(Exit::Usage);
        }
    };
    print_notes(vendor.notes());
    for left_out in vendor.left_out() {
        print_notes([&format!(
            "left out, because only another situation includes it: {left_out}"
        )]);
    }
    if vendor.records().is_empty() && !project.root().join(LockFile::NAME).exists() {
        print(NOTHING)?;
        return Ok(Exit::Success);
    }
    let written = vendor.write().map_err(failure)?;
    print(sentence(&written))?;
    Ok(Exit::Success)
}

fn check(project: &LocalProject, options: &PipelineOptions) -> Result<Exit, Failure> {
    let checked = Vendor::check(project, options).map_err(failure)?;
    let Some(report) = checked.value else {
        print_diagnostics(&checked.diagnostics);
        return Ok(Exit::Usage);
    };
    if report.is_clean() && !project.root().join(LockFile::NAME).exists() {
        print(NOTHING)?;
        return Ok(Exit::Success);
    }
    if report.is_clean() {
        print(format!(
            "{} covers all files included from servers\n",
            LockFile::NAME
        ))?;
        return Ok(Exit::Success);
    }
    print(report.to_string())?;
    print("`runwright vendor` writes it again\n")?;
    Ok(Exit::JobFailed)
}

fn sentence(written: &Written) -> String {
    let Written {
        answers,
        added,
        removed,
        changed,
    } = written;
    let answers = counted(*answers, "answer");
    let name = LockFile::NAME;
    if !changed && (*added, *removed) == (0, 0) {
        return format!("{name} has {answers}, as before\n");
    }
    let (added, removed) = (counted(*added, "text"), counted(*removed, "text"));
    if !changed {
        return format!("{name} has {answers}, as before; {added} written anew, {removed} gone\n");
    }
    format!("{name} has {answers}; {added} new, {removed} gone\n")
}

fn failure(error: VendorError) -> Failure {
    match error {
        VendorError::Local(error) => error.into(),
        VendorError::LockFile(error) if error.is_of_machine => Failure::environment(error),
        VendorError::LockFile(error) => {
            let help = error.help.clone();
            let failure = Failure::usage(error);
            match help {
                Some(help) => failure.with_help(help),
                None => failure,
            }
        }
        error => Failure::environment(error),
    }
}
