//! A drawing of a simulation.

use crate::simulation::{Sample, Simulation};
use std::fmt::Write;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 360;
/// The space for the numbers at the left and below, and for the names above.
const MARGIN: u32 = 48;

/// What is drawn: a name, a color, and a number of each sample.
type Line = (&'static str, &'static str, fn(&Sample) -> u32);

const LINES: [Line; 3] = [
    ("machines", "#1f77b4", |sample| sample.machines),
    ("running jobs", "#2ca02c", |sample| sample.running),
    ("waiting jobs", "#d62728", |sample| sample.waiting),
];

impl Simulation {
    /// Returns a plot of the machines and jobs over time, as SVG. Each column of pixels has the greatest number in its time.
    pub fn plot(&self) -> String {
        let end = self
            .course
            .last()
            .map_or(0.0, |it| it.at.as_secs_f64())
            .max(1.0);
        let values = self
            .course
            .iter()
            .flat_map(|it| LINES.map(|(_, _, of)| of(it)));
        let most = values.max().unwrap_or_default().max(1);
        let (right, bottom) = (WIDTH - MARGIN, HEIGHT - MARGIN);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <path d=\"M{MARGIN} {MARGIN}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{most}</text>\n\
             <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n\
             <text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{:.1} hours</text>\n",
            MARGIN - 6,
            MARGIN + 10,
            MARGIN - 6,
            HEIGHT - MARGIN + 18,
            end / 3600.0,
        );
        for (index, (name, color, of)) in LINES.into_iter().enumerate() {
            let path = self.path(of, end, most);
            let x = MARGIN as usize + index * 150;
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\"/>\n\
                 <text x=\"{x}\" y=\"30\" fill=\"{color}\">{name}</text>"
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Returns the path of a line: steps from column to column.
    fn path(&self, of: fn(&Sample) -> u32, end: f64, most: u32) -> String {
        let mut samples = self.course.iter().peekable();
        let columns = WIDTH - 2 * MARGIN;
        let (mut path, mut last) = (String::new(), 0);
        for column in 0..=columns {
            let until = end * f64::from(column) / f64::from(columns);
            // A number holds until the next sample.
            let mut value = last;
            while let Some(sample) = samples.next_if(|sample| sample.at.as_secs_f64() <= until) {
                last = of(sample);
                value = value.max(last);
            }
            let height = f64::from(HEIGHT - 2 * MARGIN);
            let y = f64::from(HEIGHT - MARGIN) - height * f64::from(value) / f64::from(most);
            let command = if column == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {y:.1}", MARGIN + column);
        }
        path
    }
}
