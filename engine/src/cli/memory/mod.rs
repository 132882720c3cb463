//! `kiln memory`: the memory of a run, what used the peak, and whether it grew.

mod report;

use std::io::{self, Write};
use std::path::Path;

use super::exit::unprinted;
use super::{Exit, Failure, find};
use crate::config::{Inputs, resolve};
use crate::memory::MIB;
use crate::record::events::Primitive;
use crate::record::run_folder::config_path;
use report::MemoryReport;

/// Reads a run's records and prints the report to `out`.
///
/// # Errors
/// When there is no run, its records cannot be read, or `out` cannot be written.
pub fn run(target: &Path, json: bool, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let found = find::run(target)?;
    let report = MemoryReport::of(&found.root, &found.record)?;
    let settings = resolve(&Inputs {
        file: Some(config_path(&found.root)),
        ..Inputs::default()
    });
    let primitive = match settings.is_ok_and(|profile| profile.is_triangles()) {
        true => Primitive::Triangles,
        false => Primitive::Gaussians,
    };
    let written = if json {
        print_json(&report, out)
    } else {
        print(&report, primitive, out)
    };
    written.map_err(unprinted)?;
    Ok(Exit::Ok)
}

/// Events that are printed, the last ones; `--json` has all.
const MOST_TOLD: usize = 20;

fn print_json(report: &MemoryReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

fn print(report: &MemoryReport, primitive: Primitive, out: &mut dyn Write) -> io::Result<()> {
    print_peak(report, out)?;
    print_room(report, primitive, out)?;
    print_tensors(report, out)?;
    print_reported(report, out)
}

/// What run it is, its peak, what used that, and what grew.
fn print_peak(report: &MemoryReport, out: &mut dyn Write) -> io::Result<()> {
    let signed = |bytes: i64| format!("{:+.1} MiB", bytes as f64 / MIB as f64);
    let or_unknown = |bytes: Option<i64>| bytes.map_or_else(|| "unknown".to_owned(), signed);
    writeln!(
        out,
        "run        {} in {}: {}, {} of {} iterations",
        report.name, report.folder, report.status, report.iterations.done, report.iterations.total
    )?;
    if let Some(device) = &report.device {
        writeln!(out, "device     {device}")?;
    }
    writeln!(
        out,
        "peak       {} in tensors, {} taken from the driver, at iteration {}",
        mib(report.peak_allocated),
        mib(report.peak_reserved),
        report.peak_it
    )?;
    if let Some(owner) = report.tags.first() {
        writeln!(
            out,
            "owner      {}: {}, {:.1} % of it",
            owner.tag,
            mib(owner.bytes),
            owner.percent
        )?;
    }
    writeln!(
        out,
        "growth     {} in tensors, {} taken from the driver, {} in use by the driver's count, {} resident in the process, since \
         iteration {}",
        signed(report.growth.allocated),
        signed(report.growth.reserved),
        or_unknown(report.growth.heap_usage),
        or_unknown(report.growth.process_resident),
        report.growth.since_it
    )?;
    Ok(())
}

/// Places of the model, what lies between tensors, what the driver offered, and what the run had room for.
fn print_room(report: &MemoryReport, primitive: Primitive, out: &mut dyn Write) -> io::Result<()> {
    if let Some(places) = report.places {
        let capacity = (places.used + places.free).max(1);
        writeln!(
            out,
            "places     {} of {capacity} used, {} at most; {} free ({:.1} %), which have {} of model and moments",
            places.used,
            places.most,
            places.free,
            100.0 * places.free as f64 / capacity as f64,
            mib(places.free_bytes)
        )?;
    }
    writeln!(
        out,
        "lost       {} between tensors, {:.1} % of what is taken from the driver (gaps that packing leaves, and rounding)",
        mib(report.lost_bytes),
        report.fragmentation_percent
    )?;
    if let Some(budget) = report.least_heap_budget {
        writeln!(out, "driver     offered {} at least", mib(budget))?;
    }
    if let Some(c) = report.capacities {
        writeln!(
            out,
            "capacity   {} {}, {} visible records, {} intersections",
            c.n_cap,
            primitive.name(),
            c.v_cap,
            c.i_cap
        )?;
    }
    Ok(())
}

/// Bytes by purpose, and the largest tensors.
fn print_tensors(report: &MemoryReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "by purpose, at the peak")?;
    for tag in &report.tags {
        writeln!(out, "  {:<16} {:>14} {:>7.1} %", tag.tag, mib(tag.bytes), tag.percent)?;
    }
    if !report.arena.is_empty() {
        writeln!(out, "arena by purpose, at its fullest moment")?;
        for tag in &report.arena {
            writeln!(out, "  {:<16} {:>14} {:>7.1} %", tag.tag, mib(tag.bytes), tag.percent)?;
        }
    }
    if !report.largest.is_empty() {
        writeln!(out, "largest tensors; those of the arena share bytes")?;
        for tensor in &report.largest {
            let shape = tensor.shape.map_or_else(String::new, |shape| format!("  {shape}"));
            writeln!(
                out,
                "  {:<28} {:<11} {:<14} {:>14}{shape}",
                tensor.name,
                tensor.class,
                tensor.tag,
                mib(tensor.bytes)
            )?;
        }
    }
    Ok(())
}

/// What the run reported, and what there is to say of its records.
fn print_reported(report: &MemoryReport, out: &mut dyn Write) -> io::Result<()> {
    if let Some(residency) = &report.residency {
        writeln!(out, "residency  {residency}")?;
    }
    if !report.reported.is_empty() {
        writeln!(out, "reported during the run")?;
    }
    for line in report.reported.iter().rev().take(MOST_TOLD).rev() {
        writeln!(out, "  {line}")?;
    }
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    for warning in &report.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::cli::exit::report as say;
    use crate::scene::scratch::Scratch;

    fn project(path: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
    }

    /// A run that resumed once, grew by 1 MiB after that, and left half of what it took unused.
    fn grown(scratch: &Scratch) -> std::path::PathBuf {
        let root = scratch.path().join("grown");
        for name in ["run.json", "env.json"] {
            let text = std::fs::read(project("tests/golden/run").join(name)).unwrap();
            scratch.write(&format!("grown/{name}"), text);
        }
        let row = |it: u32, allocated: u64, reserved: u64, peak: u64, caps: &str| {
            let (unused, rest) = (1.0 - allocated as f64 / reserved as f64, allocated - (1 << 20));
            format!(
                "{{\"it\":{it},\"allocated\":{allocated},\"reserved\":{reserved},\"peak_allocated\":{peak},\
                 \"peak_reserved\":{reserved},\"heap_budget\":{},\"heap_usage\":{},\"host_heap_usage\":null,\
                 \"process_resident\":{},\"places_used\":400,\"tags\":{{\"arena\":1048576,\"parameters\":{rest}}},\"overhead\":{unused}{caps}}}\n",
                1_u64 << 32,
                reserved + 100,
                (700 << 20) + (u64::from(it) << 14)
            )
        };
        let caps = ",\"n_cap\":1000,\"v_cap\":900,\"i_cap\":5000";
        let text = [
            row(1, 9 << 20, 12 << 20, 9 << 20, caps),
            row(100, 9 << 20, 12 << 20, 9 << 20, ""),
            row(101, 5 << 20, 12 << 20, 9 << 20, caps),
            row(200, 6 << 20, 12 << 20, 9 << 20, ""),
            "{\"it\":300,\"alloc".to_owned(),
        ];
        scratch.write("grown/memory.jsonl", text.concat());
        let events = [
            r#"{"it":0,"kind":"residency","detail":{"verdict":"resident","reference_gb_s":412.5,"slowest_gb_s":388.0,"slowest":"block 1 (arena)","blocks":2}}"#,
            r#"{"it":50,"kind":"budget_shrunk","detail":{"from":8589934592,"to":4294967296}}"#,
            r#"{"it":50,"kind":"pressure","detail":{"response":"stop_growth","active":true,"bands":null,"heap_usage":5368709120,"heap_budget":4294967296}}"#,
            r#"{"it":60,"kind":"save","detail":{"files":[]}}"#,
            r#"{"it":150,"kind":"spill","detail":{"evidence":"probe","block":"block 1 (arena)","gb_s":11.5,"reference_gb_s":410.0}}"#,
        ];
        let lines = events.map(|event| event.replacen('{', r#"{"type":"event","#, 1) + "\n");
        scratch.write("grown/metrics.jsonl", lines.concat() + "{\"type\":\"event\",\"it");
        root
    }

    fn printed(target: &Path, json: bool) -> String {
        let mut out = Vec::new();
        assert_eq!(run(target, json, &mut out).ok(), Some(Exit::Ok));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_report_is_the_golden_one() {
        let scratch = Scratch::new();
        let shown = |target: &Path| printed(target, false).replace(&target.display().to_string(), "RUN");
        let text = format!("{}\n{}", shown(&project("tests/golden/run")), shown(&grown(&scratch)));
        let path = project("tests/golden/memory_report.txt");
        if std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text);
    }

    #[test]
    fn json_holds_the_same() {
        let scratch = Scratch::new();
        let json: serde_json::Value = serde_json::from_str(&printed(&grown(&scratch), true)).unwrap();
        assert_eq!(json["peak_allocated"], 9 << 20);
        assert_eq!(json["growth"]["allocated"], 1 << 20);
        assert_eq!(json["growth"]["process_resident"], 99 << 14);
        assert_eq!(json["fragmentation_percent"], 50.0);
        assert_eq!(json["lost_bytes"], 6 << 20);
        assert_eq!(json["places"]["free"], 600);
        assert_eq!(json["warnings"].as_array().unwrap().len(), 1);
        assert_eq!(json["reported"].as_array().unwrap().len(), 3);
        assert_eq!(json["notes"].as_array().unwrap().len(), 1);
    }

    /// The warnings of a run of 30 000 iterations whose driver and system count these MiB at its records.
    fn warnings(figures: impl Fn(u64) -> [u64; 2]) -> Vec<String> {
        let scratch = Scratch::new();
        let root = grown(&scratch);
        let run = std::fs::read_to_string(root.join("run.json")).unwrap();
        let mut run: serde_json::Value = serde_json::from_str(&run).unwrap();
        (run["iterations"]["done"], run["iterations"]["total"]) = (30_000.into(), 30_000.into());
        scratch.write("grown/run.json", run.to_string());
        let row = |number: u64| {
            let [heap, resident] = figures(number).map(|mib| mib << 20);
            let caps = if number == 0 {
                ",\"n_cap\":1000,\"v_cap\":900,\"i_cap\":5000"
            } else {
                ""
            };
            format!(
                "{{\"it\":{},\"allocated\":9,\"reserved\":9,\"peak_allocated\":9,\"peak_reserved\":9,\"heap_budget\":null,\
                 \"heap_usage\":{heap},\"host_heap_usage\":null,\"process_resident\":{resident},\"places_used\":900,\
                 \"tags\":{{}},\"overhead\":0.0{caps}}}\n",
                100 * number + 1
            )
        };
        scratch.write("grown/memory.jsonl", (0..300).map(row).collect::<String>());
        let json: serde_json::Value = serde_json::from_str(&printed(&root, true)).unwrap();
        let warnings = json["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| warning.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_record_that_climbs_is_warned_of_and_a_noisy_one_is_not() {
        let climbing = warnings(|n| [4000 + n, 900 + 2 * n]);
        assert_eq!(climbing.len(), 2, "{climbing:?}");
        assert!(
            climbing[0].contains("by the driver's count grew by") && climbing[0].contains("300 MiB over"),
            "{climbing:?}"
        );
        assert!(
            climbing[1].contains("resident memory of the process grew by"),
            "{climbing:?}"
        );
        let noise = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 300;
        assert_eq!(warnings(|n| [4000 + noise(n), 900 + noise(n + 3)]), [""; 0]);
    }

    #[test]
    fn damaged_and_missing_records_are_named() {
        let scratch = Scratch::new();
        let root = grown(&scratch);
        let said = |root: &Path| {
            let mut text = Vec::new();
            let failure = run(root, false, &mut Vec::new()).err().unwrap();
            assert_eq!(say(failure.as_ref(), &mut text), Exit::Data);
            String::from_utf8(text).unwrap()
        };
        scratch.write("grown/memory.jsonl", "{}\n{\"it\":1}\n");
        assert!(said(&root).contains("memory.jsonl: line 1: "), "{}", said(&root));
        scratch.write("grown/memory.jsonl", "");
        assert!(said(&root).contains("holds no record"), "{}", said(&root));
        assert!(said(scratch.path().join("nowhere").as_path()).contains("holds no run"));
    }
}
