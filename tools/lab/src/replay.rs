//! The fair comparison of allocators: stored traces of real runs, one heap, every allocator.
//!
//! How well they pack is measured on one and the same stream of requests. What they would take in a run of their own, where
//! some follow the counts of the moment and some go by the plan, are other figures, and only these are given for it.
//!
//! Traces come from small runs. Their chunks of the model are smaller than the 2^19 Gaussians of a full run, so sizes are
//! multiplied until a chunk is a full one: blocks then hold as many tensors as they would in a run of that size.

mod player;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kiln_gaussians::layout::CHUNK;
use kiln_gpu::memory::{GIB, MIB};
use serde_json::{Value, json};

use xtask::failure::Failure;
use xtask::say;

use crate::allocators::{AllocatorKind, Fragmentation};
use crate::trace::{Section, TraceError, open};
use player::{Demand, Latency, Live, Options, Outcome, live, replay, smallest_heap};

/// What is replayed, and how.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Memory traces; those in tools/lab/traces unless given
    files: Vec<PathBuf>,
    /// Size of the heap; the smallest heap that completes is searched below it
    #[arg(long, value_name = "GIB", default_value_t = 64.0, value_parser = gib)]
    cap: f64,
    /// Multiply all sizes that follow counts; unless given, until a chunk of the model has 2^19 Gaussians
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    scale: Option<u64>,
    /// How much unused memory `tlsf` may keep
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Fragmentation::Normal)]
    fragmentation: Fragmentation,
    /// What a driver call takes, microseconds, on top of the allocator's own time
    #[arg(long, value_name = "N", default_value_t = 0)]
    call_us: u64,
    /// One JSON array instead of the table
    #[arg(long)]
    json: bool,
}

/// A finite size that is not negative.
fn gib(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|gib| gib.is_finite() && *gib >= 0.0);
    value.ok_or_else(|| "a number from 0 on".to_owned())
}

/// The stored traces, sorted.
fn stored() -> Result<Vec<PathBuf>, TraceError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) => return Err(TraceError::File { path: folder, error }),
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    Ok(files)
}

/// Times that sizes are multiplied so that a chunk of the model is a full one.
fn full_scale(sections: &[Section]) -> u64 {
    let chunk = sections.first().map_or(1, |section| section.start.chunk.max(1));
    (u64::from(CHUNK) / chunk).max(1)
}

/// One allocator on one trace.
#[derive(Clone, Debug)]
struct Row {
    /// The allocator.
    kind: AllocatorKind,
    /// What lived at once.
    live: Live,
    /// How it went on the whole heap, asked for as much as all others.
    same: Outcome,
    /// The smallest heap on which that completes, bytes.
    need_bytes: Option<u64>,
    /// It completes where 97 and 99 % of the heap are asked for at once.
    at_load: [bool; 2],
    /// How a run of its own went on the whole heap.
    own: Outcome,
}

/// Replays a trace on every allocator that is built in.
///
/// # Errors
/// When the trace's tensors fit no block.
fn compare(sections: &[Section], options: &Options) -> Result<Vec<Row>, TraceError> {
    let live = live(sections, options.scale);
    let mut rows = Vec::new();
    for kind in AllocatorKind::ALL {
        let same_options = Options {
            demand: Demand::Capacities,
            ..*options
        };
        let run = |options: &Options| replay(sections, kind, options);
        let (Some(same), Some(own)) = (run(&same_options)?, run(options)?) else {
            continue;
        };
        let mut at_load = [false; 2];
        for (fits, percent) in at_load.iter_mut().zip([97, 99]) {
            let options = Options {
                heap_bytes: live.capacity_bytes * 100 / percent,
                ..same_options
            };
            *fits = run(&options)?.is_some_and(|outcome| outcome.refused.is_none());
        }
        let high = same.driver.peak_reserved_bytes.min(options.heap_bytes);
        let need_bytes = smallest_heap(sections, kind, &same_options, high)?;
        rows.push(Row {
            kind,
            live,
            same,
            need_bytes,
            at_load,
            own,
        });
    }
    Ok(rows)
}

/// Replays what `arguments` names and prints the table.
///
/// # Errors
/// [`Failure`] for files that are no traces, or hold tensors that fit no block.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = report(arguments).map_err(|error| Failure::new(error.to_string()))?;
    say(text.trim_end());
    Ok(())
}

/// What is printed for `arguments`.
fn report(arguments: &Arguments) -> Result<String, TraceError> {
    let files = match &arguments.files[..] {
        [] => stored()?,
        files => files.to_vec(),
    };
    let mut text = String::new();
    let mut objects = Vec::new();
    for file in &files {
        let sections = open(file)?;
        let options = Options {
            heap_bytes: (arguments.cap * GIB as f64) as u64,
            fragmentation: arguments.fragmentation,
            scale: arguments.scale.unwrap_or_else(|| full_scale(&sections)),
            call_ns: arguments.call_us.saturating_mul(1000),
            demand: Demand::Counts,
        };
        let rows = compare(&sections, &options)?;
        let name = file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if arguments.json {
            objects.extend(rows.iter().map(|row| object(&name, &options, row)));
        } else {
            text += &table(&name, &sections, &options, &rows);
        }
    }
    if arguments.json {
        text = format!("{:#}\n", Value::Array(objects));
    }
    Ok(text)
}

fn ratio(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of.max(1) as f64
}

fn table(name: &str, sections: &[Section], options: &Options, rows: &[Row]) -> String {
    let live = rows.first().map_or(Live::default(), |row| row.live);
    let steps = sections.iter().map(|s| s.happenings.len()).sum::<usize>();
    let mut text = format!(
        "{name}: {} processes, {steps} happenings, sizes times {}; most in use at once {} MiB for the Gaussians there were, \
         {} MiB at capacity; heap {:.1} GiB\n\n",
        sections.len(),
        options.scale,
        live.current_bytes / MIB,
        live.capacity_bytes / MIB,
        options.heap_bytes as f64 / GIB as f64,
    );
    text += "The same requests for all, of capacities:\n\n| allocator | reserved MiB | / asked | smallest heap / asked | 97 % | 99 % \
             | ns p50 | p99 | max | driver calls |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        let Outcome {
            refused,
            driver,
            latency: Latency { p50, p99, max },
            ..
        } = &row.same;
        let asked = row.live.capacity_bytes;
        let need = match (refused, row.need_bytes) {
            (None, Some(need)) => format!("{:.3}", ratio(need, asked)),
            _ => "refused".to_owned(),
        };
        let [at_97, at_99] = row.at_load.map(|fits| if fits { "fits" } else { "fails" });
        let peak = driver.peak_reserved_bytes;
        let _ = writeln!(
            text,
            "| {} | {} | {:.3} | {need} | {at_97} | {at_99} | {p50} | {p99} | {max} | {} |",
            row.kind.name(),
            peak / MIB,
            ratio(peak, asked),
            driver.calls,
        );
    }
    text += "\nA run of its own; `planned` takes the capacity at the start, the others what counts ask \
             for:\n\n| allocator | reserved MiB | / in use | / capacity | driver calls | copied MiB |\n|---|---|---|---|---|---|\n";
    for row in rows {
        let Outcome {
            driver,
            copied_bytes,
            moved_bytes,
            ..
        } = &row.own;
        let peak = driver.peak_reserved_bytes;
        let _ = writeln!(
            text,
            "| {} | {} | {:.3} | {:.3} | {} | {} |",
            row.kind.name(),
            peak / MIB,
            ratio(peak, live.current_bytes),
            ratio(peak, live.capacity_bytes),
            driver.calls,
            (copied_bytes + moved_bytes) / MIB,
        );
    }
    text + "\n"
}

fn object(name: &str, options: &Options, row: &Row) -> Value {
    let (same, own) = (&row.same, &row.own);
    json!({
        "trace": name,
        "allocator": row.kind.name(),
        "scale": options.scale,
        "heap_bytes": options.heap_bytes,
        "fragmentation_mode": (row.kind == AllocatorKind::Tlsf).then(|| options.fragmentation.name()),
        "peak_live_bytes": row.live.current_bytes,
        "peak_live_capacity_bytes": row.live.capacity_bytes,
        "same_requests": {
            "completes": same.refused.is_none(),
            "peak_reserved_bytes": same.driver.peak_reserved_bytes,
            "need_bytes": row.need_bytes,
            "fits_at_97": row.at_load[0],
            "fits_at_99": row.at_load[1],
            // A plan has no free pieces between which bytes could be lost.
            "fragmentation": (row.kind != AllocatorKind::Planned).then_some(same.fragmentation),
            "requests": same.requests,
            "ns_p50": same.latency.p50,
            "ns_p99": same.latency.p99,
            "ns_max": same.latency.max,
            "driver_calls": same.driver.calls,
        },
        "own_run": {
            "completes": own.refused.is_none(),
            "peak_reserved_bytes": own.driver.peak_reserved_bytes,
            "requests": own.requests,
            "driver_calls": own.driver.calls,
            "copied_bytes": own.copied_bytes,
            "moved_bytes": own.moved_bytes,
            "tending_s": own.tending_s,
        },
    })
}
