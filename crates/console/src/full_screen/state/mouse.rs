use super::{Focus, ScreenState};
use crate::full_screen::draw::cells;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

/// How many rows a wheel moves.
const WHEEL: usize = 3;

impl ScreenState {
    /// Does what the mouse asks for.
    pub(in crate::full_screen) fn mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        let is_log = self.layout.log.contains(at);
        match event.kind {
            MouseEventKind::ScrollDown if is_log => self.wheel(|pager, log| pager.down(log, WHEEL)),
            MouseEventKind::ScrollUp if is_log => self.wheel(|pager, log| pager.up(log, WHEEL)),
            MouseEventKind::ScrollDown => self.choose_by(1),
            MouseEventKind::ScrollUp => self.choose_by(-1),
            MouseEventKind::Down(MouseButton::Left) if is_log => {
                self.focus = Focus::Log;
                let row = usize::from(event.row - self.layout.log.y);
                let lines = self.log_lines().lines;
                let number = lines.get(row).map(|(number, _)| *number);
                if let (Some(number), Some(job)) = (number, self.view_mut()) {
                    let is_header = job.log.row(number).is_some_and(|row| row.fold.is_some());
                    if is_header {
                        job.log.toggle(number);
                    }
                    job.pager.go(job.log.nearest(number));
                }
            }
            MouseEventKind::Down(MouseButton::Left) => {
                let found = cells(self).into_iter().find(|cell| cell.area.contains(at));
                if let Some(job) = found.and_then(|cell| cell.job) {
                    self.focus = Focus::Jobs;
                    self.choose(job);
                }
            }
            _ => return,
        }
        self.is_stale = true;
    }

    fn wheel(&mut self, turn: impl FnOnce(&mut super::Pager, &crate::full_screen::log::JobLog)) {
        if let Some(job) = self.view_mut() {
            turn(&mut job.pager, &job.log);
        }
    }
}
