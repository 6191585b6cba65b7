//! How a run is shown: for whom, and in which layout.

use crate::text::{OutputFeatures, Style};
use scheduler::event::{EventSink, PipelineEvent};
use std::io::{self, IsTerminal};
use std::sync::Arc;

/// Who reads what a run shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum ProgressMode {
    /// `tty` on a terminal, `plain` elsewhere
    Auto,
    /// For a terminal: colours
    Tty,
    /// For people and programs alike: no colours, the cursor is never moved
    Plain,
    /// A program: events as JSON lines on standard output
    Json,
    /// For a terminal, on the full screen: browse jobs and logs, and act by keys
    Tui,
}

/// How logs and the state of jobs are laid out for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Layout {
    /// What runs and waits at the bottom, above it a line per finished job and the logs of failed ones
    Live,
    /// The log of each job in one block when it ends
    Group,
    /// Every line as it comes, behind the name of its job
    Prefix,
}

/// How a run is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The layout.
    pub layout: Layout,
    /// The looks.
    pub style: Style,
    /// Whether all is shown that the runner itself says.
    pub verbose: bool,
}

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressView {
    /// To people.
    Lines(View),
    /// To programs.
    Json,
    /// To people, on the full screen.
    FullScreen(View),
}

/// Two options that exclude each other, or an option that this terminal excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressConflict {
    /// A layout for JSON.
    LayoutOfJson,
    /// A live view that must not move the cursor.
    PlainLive,
    /// A live view where the cursor cannot be moved.
    NoTerminal,
    /// A layout for the full screen.
    LayoutOfScreen,
    /// A full screen without a terminal.
    NoScreen,
}

impl ProgressMode {
    /// Returns whether it can be shown here, for a mode from settings: the full screen needs a terminal.
    pub fn can_be_shown(self) -> bool {
        self != Self::Tui || (io::stdin().is_terminal() && OutputFeatures::of_stdout().can_move)
    }
}

impl View {
    /// Returns the view for whatever standard output is.
    pub fn of_stdout() -> Self {
        let features = OutputFeatures::of_stdout();
        Self {
            layout: default_layout(features),
            style: Style::of(features),
            verbose: false,
        }
    }
}

impl ProgressView {
    /// Chooses by the options and by what standard output supports.
    ///
    /// # Errors
    ///
    /// When the options exclude each other.
    pub fn choose(
        progress: ProgressMode,
        layout: Option<Layout>,
        verbose: bool,
        features: OutputFeatures,
    ) -> Result<Self, ProgressConflict> {
        let style = match progress {
            ProgressMode::Json if layout.is_some() => return Err(ProgressConflict::LayoutOfJson),
            ProgressMode::Json => return Ok(Self::Json),
            ProgressMode::Tui if layout.is_some() => return Err(ProgressConflict::LayoutOfScreen),
            ProgressMode::Tui if !features.can_move => return Err(ProgressConflict::NoScreen),
            ProgressMode::Tui => {
                return Ok(Self::FullScreen(View {
                    layout: Layout::Live,
                    style: Style::of(features),
                    verbose,
                }));
            }
            ProgressMode::Plain => Style::PLAIN,
            ProgressMode::Tty => Style::of(features).coloured(),
            ProgressMode::Auto => Style::of(features),
        };
        let layout = match layout {
            Some(Layout::Live) if progress == ProgressMode::Plain => {
                return Err(ProgressConflict::PlainLive);
            }
            Some(Layout::Live) if !features.can_move => return Err(ProgressConflict::NoTerminal),
            Some(layout) => layout,
            None if progress == ProgressMode::Plain => Layout::Prefix,
            None if progress == ProgressMode::Tty && features.can_move => Layout::Live,
            None => default_layout(features),
        };
        Ok(Self::Lines(View {
            layout,
            style,
            verbose,
        }))
    }
}

fn default_layout(features: OutputFeatures) -> Layout {
    if features.can_move && !features.is_ci {
        Layout::Live
    } else {
        Layout::Prefix
    }
}

impl ProgressConflict {
    /// Returns the error message.
    pub fn message(self) -> &'static str {
        match self {
            Self::LayoutOfJson => "--output has no meaning with --progress json",
            Self::PlainLive => "--output live moves the cursor, which --progress plain rules out",
            Self::NoTerminal => "--output live needs a terminal that can move its cursor",
            Self::LayoutOfScreen => "--output has no meaning with --progress tui",
            Self::NoScreen => {
                "--progress tui needs a terminal for standard input and standard output"
            }
        }
    }

    /// Returns the help for the user.
    pub fn help(self) -> &'static str {
        match self {
            Self::LayoutOfJson => "leave --output out; every line of JSON names its job",
            Self::PlainLive | Self::NoTerminal => "use --output group or --output prefix",
            Self::LayoutOfScreen => "leave one of them out",
            Self::NoScreen => "use --progress plain, or leave it out",
        }
    }
}

/// Hands each event to several sinks.
#[derive(Debug, Default)]
pub struct Tee(pub Vec<Arc<dyn EventSink>>);

impl EventSink for Tee {
    fn event(&self, event: &PipelineEvent) {
        self.0.iter().for_each(|sink| sink.event(event));
    }

    fn flush(&self) {
        self.0.iter().for_each(|sink| sink.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::Layout::{Group, Live, Prefix};
    use super::ProgressMode::{Auto, Json, Plain, Tty, Tui};
    use super::*;

    #[test]
    fn incompatible_options_are_refused() {
        // R-PIPE-21
        let features = |is_terminal, ci: bool| {
            OutputFeatures::read(is_terminal, |name| match name {
                "TERM" => Some("xterm".into()),
                "CI" if ci => Some("true".into()),
                _ => None,
            })
        };
        let (terminal, pipe, ci) = (
            features(true, false),
            features(false, false),
            features(true, true),
        );
        let check = |progress,
                     layout,
                     features: OutputFeatures,
                     expect: Result<(Layout, bool), ProgressConflict>| {
            let shown = ProgressView::choose(progress, layout, false, features);
            let found = shown.map(|shown| match shown {
                ProgressView::Lines(view) | ProgressView::FullScreen(view) => {
                    (view.layout, view.style.has_colours())
                }
                ProgressView::Json => unreachable!("JSON was not requested"),
            });
            assert_eq!(found, expect, "{progress:?} {layout:?} {features:?}");
        };
        check(Auto, None, terminal, Ok((Live, true)));
        check(Auto, None, pipe, Ok((Prefix, false)));
        check(Auto, None, ci, Ok((Prefix, true)));
        check(Auto, Some(Live), ci, Ok((Live, true)));
        check(Auto, Some(Live), pipe, Err(ProgressConflict::NoTerminal));
        check(Auto, Some(Group), terminal, Ok((Group, true)));
        check(Tty, None, ci, Ok((Live, true)));
        check(Tty, None, pipe, Ok((Prefix, true)));
        check(Tty, Some(Live), pipe, Err(ProgressConflict::NoTerminal));
        check(Plain, None, terminal, Ok((Prefix, false)));
        check(Plain, Some(Group), terminal, Ok((Group, false)));
        check(
            Plain,
            Some(Live),
            terminal,
            Err(ProgressConflict::PlainLive),
        );
        check(
            Json,
            Some(Prefix),
            terminal,
            Err(ProgressConflict::LayoutOfJson),
        );
        check(Tui, None, terminal, Ok((Live, true)));
        check(Tui, None, ci, Ok((Live, true)));
        check(Tui, None, pipe, Err(ProgressConflict::NoScreen));
        check(
            Tui,
            Some(Live),
            terminal,
            Err(ProgressConflict::LayoutOfScreen),
        );
        let json = ProgressView::choose(Json, None, false, terminal);
        assert_eq!(json, Ok(ProgressView::Json));
    }
}
