//! What a run did with memory, as a file.
//!
//! A trace is JSON lines. Each process of a run begins with a `start` line, the tensors and the programs; then follow, in
//! order, the steps with their counts, the work between steps by phase, and the changes of the number of Gaussians. The
//! allocations and frees inside a step are not written out: they follow from the program's lifetimes and the step's counts.
//!
//! Owns the format and its reading. Promises that a damaged file is an error with its line. The runs of the folder
//! `traces` were recorded by an engine that still had other allocators; see its README.

mod line;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use line::{Line, ProgramLine, Start, Step, TensorLine, Topology, Unit, Work};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kiln_gpu::memory::MemoryError;
use kiln_program::{Class, Command, Program, Span, TensorTable};

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    /// A line is not one of a trace.
    #[error("line {line}: {what}; is it a memory trace of this version?")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// There is nothing in it.
    #[error("there is no `start` line; is it a memory trace?")]
    Empty,
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file is no trace.
    #[error("{}: {error}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<TraceError>,
    },
    /// The tensors cannot be placed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// The counts that sizes follow from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Gaussians in the model.
    pub(crate) gaussians: u64,
    /// Visible records.
    pub(crate) visible: u64,
    /// Tile intersections.
    pub(crate) intersections: u64,
    /// Pixels of the image.
    pub(crate) pixels: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happening {
    /// A training step.
    Step(Step),
    /// Work between steps.
    Work(Work),
    /// Densification.
    Topology(Topology),
}

/// One process of a run: what was planned and what happened.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Circumstances.
    pub(crate) start: Start,
    /// All tensors, in table order.
    pub(crate) tensors: Vec<TensorLine>,
    /// All programs.
    pub(crate) programs: Vec<ProgramLine>,
    /// In order.
    pub(crate) happenings: Vec<Happening>,
}

/// Reads the trace in a file; see [`read`].
///
/// # Errors
/// [`TraceError`] with the file's path.
pub(crate) fn open(path: &Path) -> Result<Vec<Section>, TraceError> {
    let path = path.to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => read(&text).map_err(|error| TraceError::Damaged {
            path,
            error: Box::new(error),
        }),
        Err(error) => Err(TraceError::File { path, error }),
    }
}

/// Reads a trace: one section for each process. A last line that was cut short is left out.
///
/// # Errors
/// [`TraceError`] at the first line that is none of a trace.
pub(crate) fn read(text: &str) -> Result<Vec<Section>, TraceError> {
    let mut sections: Vec<Section> = Vec::new();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    for (number, row) in (1..).zip(text.get(..whole).unwrap_or_default().lines()) {
        let error = |what: String| TraceError::Line { line: number, what };
        let line: Line = serde_json::from_str(row).map_err(|e| error(e.to_string()))?;
        if let Line::Start(start) = line {
            if start.version != Start::VERSION {
                return Err(error(format!("version {} is not {}", start.version, Start::VERSION)));
            }
            sections.push(Section {
                start,
                tensors: Vec::new(),
                programs: Vec::new(),
                happenings: Vec::new(),
            });
            continue;
        }
        let section = sections
            .last_mut()
            .ok_or_else(|| error("it comes before any `start`".to_owned()))?;
        section.take(line).map_err(error)?;
    }
    if sections.is_empty() {
        return Err(TraceError::Empty);
    }
    Ok(sections)
}

impl Section {
    fn take(&mut self, line: Line) -> Result<(), String> {
        let runs = match &line {
            Line::Step(step) => &step.runs[..],
            Line::Work(work) => &work.runs[..],
            _ => &[],
        };
        if let Some(run) = runs.iter().find(|run| **run as usize >= self.programs.len()) {
            return Err(format!("there is no program {run}"));
        }
        match line {
            Line::Start(_) => {}
            Line::Tensor(tensor) => {
                if tensor.rows == 0 || tensor.of == 0 || !tensor.bytes.is_multiple_of(tensor.rows) {
                    return Err(format!("`{}` has rows or units of nothing", tensor.name));
                }
                self.tensors.push(tensor);
            }
            Line::Program(program) => {
                let known =
                    |(tensor, first, last): &(usize, usize, usize)| *tensor < self.tensors.len() && first <= last;
                if let Some((tensor, ..)) = program.arena.iter().find(|life| !known(life)) {
                    return Err(format!("`{}` uses tensor {tensor} at no time", program.name));
                }
                self.programs.push(program);
            }
            Line::Step(step) => self.happenings.push(Happening::Step(step)),
            Line::Work(work) => self.happenings.push(Happening::Work(work)),
            Line::Topology(topology) => self.happenings.push(Happening::Topology(topology)),
        }
        Ok(())
    }

    /// The same with `scale` times as much of everything that is counted: Gaussians, records, intersections, pixels.
    pub(crate) fn scaled(&self, scale: u64) -> Self {
        let mut scaled = self.clone();
        for tensor in &mut scaled.tensors {
            if tensor.unit != Unit::Fixed {
                tensor.bytes *= scale;
            }
        }
        scaled
    }

    /// The tensors, and a view of all of each.
    pub(crate) fn table(&self) -> (TensorTable, Vec<Span>) {
        let mut table = TensorTable::default();
        let add = |tensor: &TensorLine| table.add(&*tensor.name, tensor.class, tensor.tag, tensor.bytes);
        let views = self.tensors.iter().map(add).collect();
        (table, views)
    }

    /// Programs that hold each arena tensor, of these views, when it was first and last used, and do nothing else.
    pub(crate) fn scripts(&self, views: &[Span]) -> Vec<Program> {
        let script = |program: &ProgramLine| {
            let mut at: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
            for (tensor, first, last) in &program.arena {
                let Some(view) = views.get(*tensor) else { continue };
                at.entry(*first).or_default().push(*view);
                at.entry(*last).or_default().push(*view);
            }
            let mut script = Program::new(&*program.name);
            script.commands = at.into_values().map(Command::Hold).collect();
            script
        };
        self.programs.iter().map(script).collect()
    }

    /// Bytes of every tensor for `counts`, all of them on the device.
    pub(crate) fn sizes(&self, counts: &Counts) -> Vec<u64> {
        self.tensors.iter().map(|tensor| tensor.bytes_for(counts)).collect()
    }

    /// Counts at which every tensor has the size it was planned with.
    pub(crate) fn capacity(&self) -> Counts {
        let start = &self.start;
        Counts {
            gaussians: start.n_cap,
            visible: start.v_cap,
            intersections: start.i_cap,
            pixels: start.max_pixels,
        }
    }

    /// Most bytes that live at once when the program `run` runs on tensors of these `sizes`.
    pub(crate) fn live_bytes(&self, sizes: &[u64], run: u32) -> u64 {
        let size = |tensor: usize| sizes.get(tensor).copied().unwrap_or(0);
        let own = |class| matches!(class, Class::Persistent | Class::Images | Class::Small);
        let fixed = (0..).zip(&self.tensors).filter(|(_, t)| own(t.class));
        let fixed_bytes: u64 = fixed.map(|(index, _)| size(index)).sum();
        let Some(program) = self.programs.get(run as usize) else {
            return fixed_bytes;
        };
        let mut change: BTreeMap<usize, i128> = BTreeMap::new();
        for (tensor, first, last) in &program.arena {
            let bytes = i128::from(size(*tensor));
            *change.entry(*first).or_default() += bytes;
            *change.entry(last + 1).or_default() -= bytes;
        }
        let mut live = 0i128;
        let mut most = 0i128;
        for bytes in change.into_values() {
            live += bytes;
            most = most.max(live);
        }
        fixed_bytes + u64::try_from(most).unwrap_or(0)
    }
}
