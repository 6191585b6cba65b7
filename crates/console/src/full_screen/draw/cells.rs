use crate::full_screen::state::ScreenState;
use ratatui::layout::Rect;

/// Stages beside each other are no narrower than this, or not all of them are shown.
const NARROWEST: usize = 18;

/// They are no wider either.
const WIDEST: usize = 36;

/// A place of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) struct Cell {
    pub(in crate::full_screen) area: Rect,
    pub(in crate::full_screen) stage: usize,
    /// The job there, or else the heading of the stage.
    pub(in crate::full_screen) job: Option<usize>,
}

/// Returns where jobs and the headings of stages are, as far as there is room around the selected job.
pub(in crate::full_screen) fn cells(state: &ScreenState) -> Vec<Cell> {
    let area = state.layout.graph;
    if area.is_empty() {
        return Vec::new();
    }
    let stages: Vec<(usize, Vec<usize>)> = (0..state.run.stages().len())
        .map(|stage| (stage, state.shown_of(stage)))
        .filter(|(_, jobs)| !jobs.is_empty())
        .collect();
    if state.layout.has_columns {
        beside(state, &stages, area)
    } else {
        below(state, &stages, area)
    }
}

/// Returns the stages as columns.
fn beside(state: &ScreenState, stages: &[(usize, Vec<usize>)], area: Rect) -> Vec<Cell> {
    let width = usize::from(area.width);
    let count = stages.len().clamp(1, (width / NARROWEST).max(1));
    let each = (width / count).min(WIDEST);
    let selected = stages
        .iter()
        .position(|(_, jobs)| jobs.contains(&state.selected));
    let first = window(stages.len(), count, selected.unwrap_or(0));
    let mut cells = Vec::new();
    let each = u16::try_from(each).unwrap_or(area.width);
    for (x, (stage, jobs)) in (area.x..)
        .step_by(usize::from(each.max(1)))
        .zip(&stages[first..stages.len().min(first + count)])
    {
        let row = |y: u16| Rect::new(x, y, each, 1).intersection(area);
        cells.push(Cell {
            area: row(area.y),
            stage: *stage,
            job: None,
        });
        let room = usize::from(area.height - 1);
        let at = jobs.iter().position(|job| *job == state.selected);
        let first = window(jobs.len(), room, at.unwrap_or(0));
        for (y, job) in (area.y + 1..area.bottom()).zip(&jobs[first..]) {
            cells.push(Cell {
                area: row(y),
                stage: *stage,
                job: Some(*job),
            });
        }
    }
    cells
}

/// Returns the stages as a list.
fn below(state: &ScreenState, stages: &[(usize, Vec<usize>)], area: Rect) -> Vec<Cell> {
    let rows: Vec<(usize, Option<usize>)> = stages
        .iter()
        .flat_map(|(stage, jobs)| {
            let jobs = jobs.iter().map(|job| (*stage, Some(*job)));
            std::iter::once((*stage, None)).chain(jobs)
        })
        .collect();
    let selected = rows
        .iter()
        .position(|(_, job)| *job == Some(state.selected));
    let first = window(rows.len(), usize::from(area.height), selected.unwrap_or(0));
    let rows = (area.y..area.bottom()).zip(&rows[first..]);
    rows.map(|(y, (stage, job))| Cell {
        area: Rect {
            y,
            height: 1,
            ..area
        },
        stage: *stage,
        job: *job,
    })
    .collect()
}

/// Returns the first of so many that are shown, so that the selected one is near the middle.
fn window(count: usize, room: usize, selected: usize) -> usize {
    let most = count.saturating_sub(room);
    selected.saturating_sub(room / 2).min(most)
}
