//! The guide's page about all keys.

use super::flags::{FLAGS, FlagEffect};
use super::{KeyEffect, KeySpec, executors, groups, header};
use std::fmt::Write as _;

/// Returns the guide's tables of all keys, flags and refused executors, in Markdown.
pub fn key_table_markdown() -> String {
    let mut page = String::new();
    for group in groups() {
        let title = match group.table {
            "" => "The whole process".to_owned(),
            table => format!("`{}`", header(table)),
        };
        line(&mut page, format_args!("## {title}\n"));
        line(&mut page, format_args!("| Key | Effect | Default | |"));
        line(&mut page, format_args!("| --- | --- | --- | --- |"));
        for key in group.keys {
            line(&mut page, format_args!("{}", key_row(key)));
        }
        page.push('\n');
    }
    flags(&mut page);
    refused_executors(&mut page);
    page
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a text does not fail.
    let _ = writeln!(page, "{text}");
}

fn key_row(key: &KeySpec) -> String {
    let effect = match key.effect {
        KeyEffect::Supported => "supported",
        KeyEffect::NoEffect => "no effect",
        KeyEffect::Refused => "refused",
        KeyEffect::RefusedIfFalse => "`false` is refused",
    };
    let mut text = key.text.to_owned();
    if !key.difference.is_empty() {
        text = format!("{text}. Different: {}", key.difference);
    }
    let default = key.default;
    format!("| `{}` | {effect} | {default} | {text} |", key.name)
}

fn flags(page: &mut String) {
    line(page, format_args!("## `[runners.feature_flags]`\n"));
    line(
        page,
        format_args!(
            "A flag that is `as if on` or `as if off` cannot be changed. One that `does not matter` chooses between two\n\
             implementations of GitLab Runner, of which this runner has neither.\n"
        ),
    );
    line(
        page,
        format_args!("| Flag | Effect | GitLab Runner's default | |"),
    );
    line(page, format_args!("| --- | --- | --- | --- |"));
    for flag in FLAGS {
        let effect = match flag.effect {
            FlagEffect::Honoured => "supported",
            FlagEffect::AlwaysOn => "as if on",
            FlagEffect::AlwaysOff => "as if off",
            FlagEffect::Either => "does not matter",
        };
        line(
            page,
            format_args!(
                "| `{}` | {effect} | `{}` | {} |",
                flag.name, flag.default, flag.text
            ),
        );
    }
    page.push('\n');
}

fn refused_executors(page: &mut String) {
    line(page, format_args!("## Executors that do not exist here\n"));
    line(page, format_args!("| `executor` | |"));
    line(page, format_args!("| --- | --- |"));
    for (name, reason) in executors::all_refused() {
        line(page, format_args!("| `{name}` | {reason} |"));
    }
}
