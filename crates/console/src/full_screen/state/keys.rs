use super::input::{Typed, variables};
use super::log_view::Wrapped;
use super::{Action, Focus, Input, Purpose, Question, ScreenState};
use crate::full_screen::log::{Direction, Search};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use scheduler::Status;

/// How many columns a log moves sideways at a time.
const SIDEWAYS: usize = 8;

impl ScreenState {
    /// Acts on a key; returns what the screen's thread has to do.
    pub(in crate::full_screen) fn key(&mut self, key: KeyEvent) -> Option<Action> {
        self.is_stale = true;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return self.interrupt();
        }
        self.note = None;
        if control {
            match key.code {
                KeyCode::Char('z') => return Some(Action::Suspend),
                KeyCode::Char('l') => return Some(Action::Redraw),
                _ => {}
            }
        }
        if let Some(question) = self.question.take() {
            return self.answer(question, key.code);
        }
        if let Some(input) = self.input.take() {
            return self.typed(input, key);
        }
        if self.help.is_some() || self.messages_shown.is_some() {
            self.page(key.code);
            return None;
        }
        if control {
            self.page_of_log(key.code);
            return None;
        }
        self.command(key.code).or_else(|| {
            match self.focus {
                Focus::Jobs => self.key_for_jobs(key.code),
                Focus::Log => self.key_for_log(key.code),
            }
            None
        })
    }

    /// Takes pasted text.
    pub(in crate::full_screen) fn paste(&mut self, text: &str) {
        if let Some(mut input) = self.input.take() {
            input.paste(text);
            if input.purpose == Purpose::Filter {
                self.filter.clone_from(&input.text);
                self.choose_shown();
            }
            self.input = Some(input);
            self.is_stale = true;
        }
    }

    /// Asks the first time, and aborts the second time.
    fn interrupt(&mut self) -> Option<Action> {
        self.input = None;
        if self.is_stopping || self.question == Some(Question::Leave) {
            self.question = None;
            self.leaves = true;
            return Some(Action::Abort);
        }
        self.leave()
    }

    fn leave(&mut self) -> Option<Action> {
        if self.run.is_settled() {
            return Some(Action::Leave);
        }
        if self.is_stopping {
            self.leaves = true;
            self.say("quits when all jobs have ended; Ctrl-C ends everything at once");
            return None;
        }
        self.question = Some(Question::Leave);
        None
    }

    fn answer(&mut self, question: Question, code: KeyCode) -> Option<Action> {
        let yes = matches!(code, KeyCode::Char('y' | 'Y') | KeyCode::Enter);
        match (question, code) {
            (Question::CancelJob(id), _) if yes => Some(Action::CancelJob(id)),
            (Question::CancelAll, _) if yes => Some(Action::CancelAll),
            (Question::Leave, KeyCode::Char('c')) => {
                self.leaves = true;
                Some(Action::CancelAll)
            }
            (Question::Leave, KeyCode::Char('l')) => Some(Action::Leave),
            (Question::CancelJob(_) | Question::CancelAll | Question::Leave, _) => None,
        }
    }

    fn typed(&mut self, mut input: Input, key: KeyEvent) -> Option<Action> {
        let typed = input.key(key);
        match (&input.purpose, typed) {
            (Purpose::Filter, Typed::Aborted) => self.filter.clear(),
            (Purpose::Filter, _) => self.filter.clone_from(&input.text),
            (Purpose::Search, Typed::Done) => self.search_for(&input.text),
            (Purpose::Play(id), Typed::Done) => match variables(&input.text) {
                Ok(variables) => return Some(Action::Play(id.clone(), variables)),
                Err(wrong) => {
                    self.say(&wrong);
                    self.input = Some(input);
                    return None;
                }
            },
            (Purpose::Search | Purpose::Play(_), _) => {}
        }
        self.choose_shown();
        if typed == Typed::Changed {
            self.input = Some(input);
        }
        None
    }

    fn search_for(&mut self, text: &str) {
        if text.is_empty() {
            self.search = None;
            return;
        }
        self.search = Some(Search::new(text));
        let from = self.view().map_or(0, |view| view.pager.cursor);
        self.goes = Some((Direction::Forward, from));
    }

    /// Scrolls the help or the messages, or closes them.
    fn page(&mut self, code: KeyCode) {
        let page = self.layout.all.height.saturating_sub(4).max(1);
        let Some(line) = self.help.as_mut().or(self.messages_shown.as_mut()) else {
            return;
        };
        match code {
            KeyCode::Down | KeyCode::Char('j') => *line = line.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => *line = line.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => *line = line.saturating_add(page),
            KeyCode::PageUp | KeyCode::Char('b') => *line = line.saturating_sub(page),
            KeyCode::Home | KeyCode::Char('g') => *line = 0,
            _ => {
                self.help = None;
                self.messages_shown = None;
            }
        }
    }

    /// Acts on a key that means the same everywhere.
    fn command(&mut self, code: KeyCode) -> Option<Action> {
        let id = self.job_id();
        match code {
            KeyCode::Char('q') => return self.leave(),
            KeyCode::Char('?') | KeyCode::F(1) => self.help = Some(0),
            KeyCode::Char('M') => self.messages_shown = Some(0),
            KeyCode::Tab | KeyCode::BackTab => {
                self.focus = match self.focus {
                    Focus::Jobs => Focus::Log,
                    Focus::Log => Focus::Jobs,
                };
                self.is_zoomed &= self.focus == Focus::Log;
            }
            KeyCode::Char('z') => {
                self.is_zoomed = !self.is_zoomed;
                self.focus = Focus::Log;
            }
            KeyCode::Char('d') => {
                let shown = self.layout.details.width > 0;
                self.details = Some(!shown);
            }
            KeyCode::Char('w') => {
                self.wraps = !self.wraps;
                let word = if self.wraps { "wrapped" } else { "cut" };
                self.say(&format!("long lines are {word}"));
            }
            KeyCode::Char('e') => {
                self.search = Some(Search::for_errors());
                self.goes = Some((Direction::Forward, 0));
            }
            KeyCode::Char('m') => {
                self.has_mouse = !self.has_mouse;
                let word = if self.has_mouse {
                    "the mouse selects jobs; with Shift it marks text"
                } else {
                    "the mouse marks text"
                };
                self.say(word);
                return Some(Action::CaptureMouse(self.has_mouse));
            }
            KeyCode::Char(']') => self.choose_by(1),
            KeyCode::Char('[') => self.choose_by(-1),
            KeyCode::Char('p') => return Some(Action::Play(id?, Vec::new())),
            KeyCode::Char('P') => self.input = Some(Input::new(Purpose::Play(id?))),
            KeyCode::Char('r') => return Some(Action::Retry(id?)),
            KeyCode::Char('s') => return Some(Action::Shell(id?)),
            KeyCode::Char('c') => {
                let status = self.job()?.status;
                if status.is_final() || status == Status::Canceling {
                    self.say(&format!("the job is {status}"));
                } else {
                    self.question = Some(Question::CancelJob(id?));
                }
            }
            KeyCode::Char('C') if !self.run.is_settled() => {
                self.question = Some(Question::CancelAll);
            }
            _ => return None,
        }
        None
    }

    fn key_for_jobs(&mut self, code: KeyCode) {
        let page = isize::try_from(self.layout.graph.height)
            .unwrap_or(1)
            .max(1);
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.choose_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose_by(1),
            KeyCode::Left | KeyCode::Char('h') => self.choose_beside(Direction::Backward),
            KeyCode::Right | KeyCode::Char('l') => self.choose_beside(Direction::Forward),
            KeyCode::PageUp => self.choose_by(-page),
            KeyCode::PageDown => self.choose_by(page),
            KeyCode::Home | KeyCode::Char('g') => self.choose_by(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.choose_by(isize::MAX),
            KeyCode::Enter => self.focus = Focus::Log,
            KeyCode::Char('/') => self.input = Some(Input::new(Purpose::Filter)),
            KeyCode::Char('n') => self.choose_failed(Direction::Forward),
            KeyCode::Char('N') => self.choose_failed(Direction::Backward),
            KeyCode::Esc => {
                self.filter.clear();
                self.search = None;
            }
            _ => {}
        }
    }

    fn key_for_log(&mut self, code: KeyCode) {
        let page = usize::from(self.layout.log.height).saturating_sub(1).max(1);
        let wraps = self.wraps;
        match code {
            KeyCode::Char('/') => self.input = Some(Input::new(Purpose::Search)),
            KeyCode::Char('n') => self.next_hit(Direction::Forward),
            KeyCode::Char('N') => self.next_hit(Direction::Backward),
            KeyCode::Esc | KeyCode::Backspace => {
                if self.search.take().is_some() {
                    self.goes = None;
                } else if self.is_zoomed {
                    self.is_zoomed = false;
                } else {
                    self.focus = Focus::Jobs;
                }
            }
            code => {
                let Some(job) = self.view_mut() else {
                    return;
                };
                let (log, pager) = (&mut job.log, &mut job.pager);
                match code {
                    KeyCode::Up | KeyCode::Char('k') => pager.up(log, 1),
                    KeyCode::Down | KeyCode::Char('j') => pager.down(log, 1),
                    KeyCode::PageUp | KeyCode::Char('b') => pager.up(log, page),
                    KeyCode::PageDown | KeyCode::Char(' ') => pager.down(log, page),
                    KeyCode::Home | KeyCode::Char('g') => pager.go(log.nearest(0)),
                    KeyCode::End | KeyCode::Char('G') => pager.follows = true,
                    KeyCode::Left | KeyCode::Char('h') if !wraps => {
                        pager.shift = pager.shift.saturating_sub(SIDEWAYS);
                    }
                    KeyCode::Right | KeyCode::Char('l') if !wraps => pager.shift += SIDEWAYS,
                    KeyCode::Char('0') => pager.shift = 0,
                    KeyCode::Enter | KeyCode::Char('o') => {
                        if let Some(header) = log.toggle(pager.cursor) {
                            pager.go(header);
                        }
                    }
                    KeyCode::Char('F') => log.toggle_all(),
                    _ => {}
                }
            }
        }
    }

    /// Scrolls the log by half a page.
    fn page_of_log(&mut self, code: KeyCode) {
        let half = (usize::from(self.layout.log.height) / 2).max(1);
        if let Some(job) = self.view_mut() {
            match code {
                KeyCode::Char('d') => job.pager.down(&job.log, half),
                KeyCode::Char('u') => job.pager.up(&job.log, half),
                _ => {}
            }
        }
    }

    fn next_hit(&mut self, way: Direction) {
        if self.search.is_none() {
            self.say("no search yet: / searches, e finds errors");
            return;
        }
        let Some(job) = self.view() else {
            return;
        };
        let cursor = job.pager.cursor;
        match way {
            Direction::Forward => self.hit(way, cursor + 1, Wrapped::None),
            Direction::Backward => match cursor.checked_sub(1) {
                Some(before) => self.hit(way, before, Wrapped::None),
                None => self.hit(way, job.log.rows().saturating_sub(1), Wrapped::Once),
            },
        }
    }
}
