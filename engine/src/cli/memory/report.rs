//! A run's memory in figures, from `memory.jsonl`, `run.json` and `env.json`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde::Serialize;

use crate::record::creep::CreepWatch;
use crate::record::events::{Capacities, Event, MemoryRow, MetricsRow};
use crate::record::run_folder::{
    Allocation, Environment, Iterations, RunFolderError, RunRecord, environment_path, is_written_to, memory_path,
};

/// Share of the peak above which a purpose is worth a word, percent.
const LARGE_SHARE_PERCENT: f64 = 40.0;
/// Longest line of `memory.jsonl` that is read, bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// What `kiln memory` says; sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MemoryReport {
    /// Name of the run.
    pub(super) name: String,
    /// Its folder, as given.
    pub(super) folder: String,
    /// How it stands.
    pub(super) status: &'static str,
    /// How far it is.
    pub(super) iterations: Iterations,
    /// Device and driver; null when `env.json` cannot be read.
    pub(super) device: Option<String>,
    /// Most bytes in tensors.
    pub(super) peak_allocated: u64,
    /// Most bytes taken from the driver.
    pub(super) peak_reserved: u64,
    /// Iteration of the first record with the peak.
    pub(super) peak_it: u32,
    /// Bytes by purpose in that record, most first.
    pub(super) tags: Vec<TagRow>,
    /// Change since the process began to train.
    pub(super) growth: Growth,
    /// Share of the driver's bytes that lie between tensors, in the last record, percent: gaps that packing leaves, and rounding.
    pub(super) fragmentation_percent: f64,
    /// The same in bytes.
    pub(super) lost_bytes: u64,
    /// How many of the places for Gaussians or triangles have one; null in records of older versions.
    pub(super) places: Option<Places>,
    /// What the arena holds at its fullest moment, most first; empty in records of older versions.
    pub(super) arena: Vec<TagRow>,
    /// The least that the driver offered; null when it does not say.
    pub(super) least_heap_budget: Option<u64>,
    /// Planned capacities.
    pub(super) capacities: Option<Capacities>,
    /// The largest tensors, largest first.
    pub(super) largest: Vec<Allocation>,
    /// What the guard of the run last found about where its memory lies.
    pub(super) residency: Option<String>,
    /// What the guard reported besides, oldest first: shrunk budgets, responses to pressure, spills, slow steps.
    pub(super) reported: Vec<String>,
    /// What could be smaller.
    pub(super) notes: Vec<String>,
    /// What is odd.
    pub(super) warnings: Vec<String>,
}

/// Places for Gaussians or triangles in the last record.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Places {
    /// That have one.
    pub(super) used: u64,
    /// Most that had one, in any record.
    pub(super) most: u64,
    /// That have none.
    pub(super) free: u64,
    /// Bytes of model, moments and statistics in these.
    pub(super) free_bytes: u64,
}

/// Bytes of one purpose.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TagRow {
    /// The purpose.
    pub(super) tag: String,
    /// Bytes.
    pub(super) bytes: u64,
    /// Share of the sum.
    pub(super) percent: f64,
}

/// Change between the first and the last record of the last process that wrote to the run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Growth {
    /// Iteration of the first of the two.
    pub(super) since_it: u32,
    /// In tensors.
    pub(super) allocated: i64,
    /// Taken from the driver.
    pub(super) reserved: i64,
    /// Device memory that the process uses by the driver's count; null when it does not say.
    pub(super) heap_usage: Option<i64>,
    /// Resident memory of the process; null when the system does not say.
    pub(super) process_resident: Option<i64>,
}

impl MemoryReport {
    /// Reads the records of the run in `root`.
    ///
    /// # Errors
    /// [`RunFolderError::Unreadable`] when `memory.jsonl` is absent, empty or damaged before its last line.
    pub(super) fn of(root: &Path, record: &RunRecord) -> Result<Self, RunFolderError> {
        let path = memory_path(root);
        let fail = |reason: String| RunFolderError::Unreadable {
            path: path.clone(),
            reason,
        };
        let rows = rows(&path).map_err(fail)?;
        let (Some(last), Some(peak)) = (rows.last(), peak(&rows)) else {
            return Err(fail(
                "it holds no record yet; the sink `memory_jsonl` writes them".to_owned(),
            ));
        };
        let environment = Environment::read(&environment_path(root)).ok();
        let mut report = Self {
            name: record.name.clone(),
            folder: root.display().to_string(),
            status: record.status.found(is_written_to(root)),
            iterations: record.iterations,
            device: environment.as_ref().map(Environment::device_line),
            // The running maxima know what happened between two records.
            peak_allocated: rows.iter().map(|row| row.peak_allocated).max().unwrap_or(0),
            peak_reserved: rows.iter().map(|row| row.peak_reserved).max().unwrap_or(0),
            peak_it: peak.it,
            tags: in_order(&peak.tags),
            growth: growth(since_start(&rows), last),
            fragmentation_percent: 100.0 * last.overhead,
            lost_bytes: (last.overhead.max(0.0) * last.reserved as f64) as u64,
            places: places(&rows, last),
            arena: rows
                .iter()
                .rev()
                .find(|row| !row.arena.is_empty())
                .map_or_else(Vec::new, |row| in_order(&row.arena)),
            least_heap_budget: rows.iter().filter_map(|row| row.heap_budget).min(),
            capacities: rows.iter().rev().find_map(|row| row.capacities),
            largest: environment
                .map(|environment| environment.allocations)
                .unwrap_or_default(),
            residency: None,
            reported: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
        };
        (report.residency, report.reported) = reported(&root.join("metrics.jsonl"));
        report.note();
        report.warn();
        let mut creep = CreepWatch::new(record.scene.train_views);
        for row in since_start(&rows) {
            creep.take(row);
        }
        let found = creep.found(record.iterations.total);
        report.warnings.extend(found.iter().map(ToString::to_string));
        Ok(report)
    }

    /// A purpose with a large share of the peak is no fault, but the first place to save.
    fn note(&mut self) {
        for row in self.tags.iter().filter(|row| row.percent > LARGE_SHARE_PERCENT) {
            let less = match row.tag.as_str() {
                "parameters" | "optimizer" | "statistics" => {
                    "a lower `memory.max_gaussians` or `--sh-degree 2` takes less"
                }
                "arena" => "`--resolution 2` or a lower `memory.max_gaussians` takes less",
                "images" => "`--set dataset.residency=host` keeps them in host memory",
                _ => continue,
            };
            self.notes
                .push(format!("{} has {:.1} % of the peak; {less}", row.tag, row.percent));
        }
    }

    fn warn(&mut self) {
        if self.growth.allocated > 0 || self.growth.reserved > 0 {
            self.warnings.push(format!(
                "memory grew after iteration {}, although all of it is planned at the start; please report this run",
                self.growth.since_it
            ));
        }
    }
}

/// The last verdict of the residency probe, and everything else that concerns memory, from the events of a run. A run
/// without such a file has none; lines that cannot be read are passed over.
fn reported(path: &Path) -> (Option<String>, Vec<String>) {
    let (mut residency, mut reported) = (None, Vec::new());
    let Ok(file) = kiln_files::open_regular(path) else {
        return (residency, Vec::new());
    };
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        if line.len() > MAX_LINE_BYTES || !line.starts_with(b"{\"type\":\"event\"") {
            continue;
        }
        let Ok(MetricsRow::Event(row)) = serde_json::from_slice(&line) else {
            continue;
        };
        match &row.event {
            Event::Residency(found) => residency = Some(format!("{found}, at iteration {}", row.it)),
            Event::Spill(_) | Event::SlowStep { .. } | Event::BudgetShrunk { .. } | Event::Pressure(_) => {
                reported.push((row.it, format!("iteration {}: {}", row.it, row.event)));
            }
            // What was reported of later iterations is void from here on.
            Event::Resume { .. } => reported.retain(|(it, _)| *it <= row.it),
            _ => {}
        }
    }
    (residency, reported.into_iter().map(|(_, line)| line).collect())
}

fn peak(rows: &[MemoryRow]) -> Option<&MemoryRow> {
    // Of equal ones the first.
    rows.iter().rev().max_by_key(|row| (row.allocated, row.reserved))
}

/// Bytes by purpose, most first.
fn in_order(tags: &BTreeMap<String, u64>) -> Vec<TagRow> {
    let total = tags.values().sum::<u64>().max(1);
    let mut tags: Vec<TagRow> = tags
        .iter()
        .map(|(tag, bytes)| TagRow {
            tag: tag.clone(),
            bytes: *bytes,
            percent: 100.0 * *bytes as f64 / total as f64,
        })
        .collect();
    tags.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    tags
}

/// The records of the last process that wrote to the run: each says its capacities once, in its first.
fn since_start(rows: &[MemoryRow]) -> &[MemoryRow] {
    let first = rows.iter().rposition(|row| row.capacities.is_some()).unwrap_or(0);
    rows.get(first..).unwrap_or_default()
}

fn growth(rows: &[MemoryRow], last: &MemoryRow) -> Growth {
    let change = |now: u64, before: u64| i64::try_from(i128::from(now) - i128::from(before)).unwrap_or(i64::MAX);
    let known = |of: fn(&MemoryRow) -> Option<u64>| {
        // Of figures that not every record has, the first and the last that there are.
        let mut values = rows.iter().filter_map(of);
        let first = values.next()?;
        Some(change(values.next_back().unwrap_or(first), first))
    };
    rows.first().map_or_else(Growth::default, |first| Growth {
        since_it: first.it,
        allocated: change(last.allocated, first.allocated),
        reserved: change(last.reserved, first.reserved),
        heap_usage: known(|row| row.heap_usage),
        process_resident: known(|row| row.process_resident),
    })
}

/// Places used and free, with what tensors of the model take of the free ones.
fn places(rows: &[MemoryRow], last: &MemoryRow) -> Option<Places> {
    let used = last.places_used?;
    let capacity = rows.iter().rev().find_map(|row| row.capacities)?.n_cap;
    let free = capacity.saturating_sub(used);
    let model = ["parameters", "optimizer", "statistics"]
        .iter()
        .filter_map(|tag| last.tags.get(*tag));
    Some(Places {
        used,
        most: rows.iter().filter_map(|row| row.places_used).max().unwrap_or(used),
        free,
        free_bytes: (model.sum::<u64>() as f64 * free as f64 / capacity.max(1) as f64) as u64,
    })
}

/// All records. A last line that is cut off belongs to a process that was killed while writing, and is left out.
fn rows(path: &Path) -> Result<Vec<MemoryRow>, String> {
    let file = kiln_files::open_regular(path).map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).split(b'\n')) {
        let line = line.map_err(|error| error.to_string())?;
        if line.len() > MAX_LINE_BYTES {
            return Err(format!("line {number}: longer than {MAX_LINE_BYTES} bytes"));
        }
        if line.is_empty() {
            continue;
        }
        rows.push(serde_json::from_slice(&line).map_err(|error| (number, error)));
    }
    if matches!(rows.last(), Some(Err((_, error))) if error.is_eof()) {
        rows.pop();
    }
    rows.into_iter()
        .collect::<Result<_, (u32, serde_json::Error)>>()
        .map_err(|(number, error)| format!("line {number}: {error}"))
}
