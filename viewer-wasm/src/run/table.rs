//! All runs as a table: what each is and how good it became, filtered and sorted.

use super::RunInfo;
use crate::html::{count, duration, escape, put};
use crate::order::rising;

/// A run's row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Folder, relative to the page.
    pub(crate) path: String,
    /// For people.
    pub(crate) name: String,
    /// What `run.json` says; `None` until it was read, or when it cannot be.
    pub(crate) info: Option<RunInfo>,
    /// Training time, seconds.
    pub(crate) seconds: Option<f64>,
}

/// A column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Column {
    /// In the order of the index: the newest first.
    #[default]
    Name,
    Scene,
    Recipe,
    Seed,
    /// Size of the photos that were trained on.
    Photos,
    Status,
    Done,
    Psnr,
    Worst,
    Model,
    Time,
}

impl Column {
    const ALL: [Self; 11] = [
        Self::Name,
        Self::Scene,
        Self::Recipe,
        Self::Seed,
        Self::Photos,
        Self::Status,
        Self::Done,
        Self::Psnr,
        Self::Worst,
        Self::Model,
        Self::Time,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Name => "Run",
            Self::Scene => "Scene",
            Self::Recipe => "Recipe",
            Self::Seed => "Seed",
            Self::Photos => "Photos",
            Self::Status => "Status",
            Self::Done => "Iterations",
            Self::Psnr => "Test PSNR",
            Self::Worst => "Worst view",
            Self::Model => "Model",
            Self::Time => "Time",
        }
    }

    pub(crate) fn of_title(title: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|column| column.title() == title)
            .unwrap_or_default()
    }

    fn is_text(self) -> bool {
        matches!(
            self,
            Self::Name | Self::Scene | Self::Recipe | Self::Photos | Self::Status
        )
    }

    fn number(self, row: &Row) -> Option<f64> {
        let info = row.info.as_ref()?;
        match self {
            Self::Done => Some(info.done as f64),
            Self::Psnr => info.test.map(|[mean, _]| mean),
            Self::Worst => info.test.map(|[_, worst]| worst),
            Self::Seed => info.seed,
            Self::Model => info.plys.last().map(|ply| ply.gaussians as f64),
            Self::Time => row.seconds,
            Self::Name | Self::Scene | Self::Recipe | Self::Photos | Self::Status => None,
        }
    }

    fn text(self, row: &Row) -> String {
        let Some(info) = &row.info else {
            return match self {
                Self::Name => &row.name,
                Self::Status => "unread",
                _ => "-",
            }
            .to_owned();
        };
        let number = self.number(row);
        match self {
            Self::Name => row.name.clone(),
            Self::Scene => info.scene.clone(),
            Self::Recipe => info.recipe.clone(),
            Self::Photos => info.size.clone(),
            Self::Status => info.status.clone(),
            _ if number.is_none() => "-".to_owned(),
            Self::Psnr | Self::Worst => format!("{:.2}", number.unwrap_or_default()),
            Self::Time => duration(number.unwrap_or_default()),
            Self::Model | Self::Seed | Self::Done => {
                let of_triangles = self == Self::Model && info.plys.last().is_some_and(|ply| ply.is_triangles);
                let word = match self {
                    Self::Model if of_triangles => " triangles",
                    Self::Model => " Gaussians",
                    _ => "",
                };
                count(number.unwrap_or_default()) + word
            }
        }
    }
}

/// What the reader chose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    pub(crate) filter: String,
    pub(crate) column: Column,
    /// Turned around: numbers from the smallest, texts from the end.
    pub(crate) turned: bool,
}

impl Choice {
    /// Sorts by another column, or turns the order around.
    pub(crate) fn sort(&mut self, column: Column) {
        self.turned = self.column == column && !self.turned;
        self.column = column;
    }

    /// The rows that hold every word of the filter, in order; those without a number come last.
    fn rows<'a>(&self, rows: &'a [Row]) -> Vec<&'a Row> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_ascii_lowercase).collect();
        let holds = |row: &&Row| {
            let texts = [Column::Scene, Column::Recipe, Column::Status].map(|column| column.text(row));
            let all = format!("{} {}", row.path, texts.join(" ")).to_ascii_lowercase();
            words.iter().all(|word| all.contains(word))
        };
        let mut rows: Vec<&Row> = rows.iter().filter(holds).collect();
        match self.column {
            Column::Name if !self.turned => {}
            column if column.is_text() => {
                rows = by_text(rows, if self.turned { -1.0 } else { 1.0 }, &|row| column.text(row));
            }
            column => {
                let sign = if self.turned { 1.0 } else { -1.0 };
                rows = rising(rows, |row| {
                    column.number(row).map_or(f64::INFINITY, |number| sign * number)
                });
                if matches!(column, Column::Psnr | Column::Worst) {
                    // Figures of other photos are no better and no worse.
                    // What cannot be read comes last.
                    rows = by_text(rows, -1.0, &photos);
                }
            }
        }
        rows
    }
}

/// Rows by a text of theirs, from the end with a sign of -1; equal ones stay in order.
fn by_text<'a>(rows: Vec<&'a Row>, sign: f64, text: &dyn Fn(&Row) -> String) -> Vec<&'a Row> {
    let texts: Vec<String> = rows.iter().map(|row| text(row)).collect();
    rising(rows, |row| {
        let own = text(row);
        sign * texts.iter().filter(|other| **other < own).count() as f64
    })
}

/// What photos a run was measured against.
fn photos(row: &Row) -> String {
    Column::Scene.text(row) + &Column::Photos.text(row)
}

/// The table; `open` are the runs shown together with the numbers of their colours, of which the first is the one whose
/// splats are.
pub(crate) fn table(rows: &[Row], choice: &Choice, open: &[(String, usize)]) -> String {
    let mut out = String::from("<table><thead><tr>");
    for column in Column::ALL {
        let (sort, arrow) = match (column == choice.column, choice.turned == column.is_text()) {
            (false, _) => ("none", ""),
            (true, true) => ("descending", " ↓"),
            (true, false) => ("ascending", " ↑"),
        };
        let class = if column.is_text() { "text" } else { "" };
        let title = column.title();
        put(
            &mut out,
            &[
                "<th scope=\"col\" class=\"",
                class,
                "\" aria-sort=\"",
                sort,
                "\"><button type=\"button\" class=\"quiet\" data-act=\"runs-sort\" data-value=\"",
                title,
                "\">",
                title,
                arrow,
                "</button></th>",
            ],
        );
    }
    out += "<td>Curves</td></tr></thead><tbody>";
    let shown = choice.rows(rows);
    for row in &shown {
        let at = open.iter().position(|(path, _)| *path == row.path);
        let path = escape(&row.path);
        let current = if at == Some(0) { " aria-current=\"true\"" } else { "" };
        put(&mut out, &["<tr", current, "><th scope=\"row\">"]);
        if let Some(at) = at {
            put(&mut out, &["<i class=\"key run", &open[at].1.to_string(), "\"></i>"]);
        }
        put(
            &mut out,
            &[
                "<button type=\"button\" class=\"quiet\" data-act=\"open-run\" data-value=\"",
                &path,
                "\" title=\"",
                &path,
                "\">",
                &escape(&row.name),
                "</button></th>",
            ],
        );
        for column in Column::ALL.into_iter().skip(1) {
            let text = column.text(row);
            let bad = column == Column::Status && matches!(text.as_str(), "failed" | "stalled" | "unread");
            let class = match (column.is_text(), bad) {
                (true, true) => "text bad",
                (true, false) => "text",
                (false, _) => "",
            };
            put(&mut out, &["<td class=\"", class, "\">", &escape(&text), "</td>"]);
        }
        out += "<td>";
        if at != Some(0) {
            let pressed = if at.is_some() { "true" } else { "false" };
            put(
                &mut out,
                &[
                    "<button type=\"button\" class=\"quiet\" data-act=\"overlay\" data-value=\"",
                    &path,
                    "\" aria-pressed=\"",
                    pressed,
                    "\">compare</button>",
                ],
            );
        }
        out += "</td></tr>";
    }
    out += "</tbody></table>";
    if shown.is_empty() {
        out += "<p class=\"faint none\">No run is like that.</p>";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, status: &str, psnr: Option<f64>) -> Row {
        let info = RunInfo {
            status: status.to_owned(),
            scene: "garden".to_owned(),
            size: "-".to_owned(),
            test: psnr.map(|psnr| [psnr, psnr - 3.0]),
            ..RunInfo::default()
        };
        Row {
            path: format!("runs/{name}"),
            name: name.to_owned(),
            info: Some(info),
            seconds: Some(61.0),
        }
    }

    #[test]
    fn figures_are_compared_among_photos_of_one_size_only() {
        let of = |name: &str, size: &str, psnr: f64| {
            let mut row = row(name, "done", Some(psnr));
            let info = row.info.get_or_insert_default();
            info.size = size.to_owned();
            info.recipe = "draft".to_owned();
            row
        };
        let rows = vec![
            of("a", "1/4", 30.0),
            of("b", "full", 25.0),
            of("c", "full", 26.0),
            of("d", "1/4", 29.0),
            of("e", "1/2", 31.0),
            row("f", "done", Some(40.0)),
        ];
        let mut choice = Choice::default();
        let html = table(&rows, &choice, &[]);
        assert!(html.contains(">1/4</td>") && html.contains(">draft</td>"));
        choice.sort(Column::Psnr);
        let names: String = choice.rows(&rows).iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, "cbadef");
    }

    #[test]
    fn rows_are_filtered_by_words_and_sorted_with_the_best_first() {
        let mut rows = vec![
            row("b", "done", Some(20.0)),
            row("a", "failed", None),
            row("c", "done", Some(25.0)),
        ];
        rows.push(Row {
            path: "runs/<d>".to_owned(),
            name: "<d>".to_owned(),
            ..Row::default()
        });
        let names = |choice: &Choice| {
            choice
                .rows(&rows)
                .iter()
                .map(|row| row.name.as_str())
                .collect::<String>()
        };
        let mut choice = Choice::default();
        assert_eq!(names(&choice), "bac<d>", "as the index has them");
        choice.sort(Column::Psnr);
        assert_eq!(names(&choice), "cba<d>");
        choice.sort(Column::Psnr);
        assert_eq!(names(&choice), "bca<d>");
        choice.filter = "Garden DONE".to_owned();
        assert_eq!(names(&choice), "bc");
        choice.sort(Column::of_title("Status"));
        choice.filter.clear();
        let html = table(&rows, &choice, &[("runs/c".to_owned(), 0), ("runs/b".to_owned(), 2)]);
        assert!(html.contains("&lt;d&gt;") && html.contains("unread") && html.contains("1 min 01 s"));
        assert_eq!(html.matches("key run0").count() + html.matches("key run2").count(), 2);
        assert_eq!(html.matches("aria-current").count(), 1);
        assert_eq!(html.matches("aria-pressed=\"true\"").count(), 1);
    }
}
