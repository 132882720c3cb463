//! `kiln eval --mesh`: the figures of a mesh against the photographs of a scene, and against a truth.

use std::io::{self, Write};

use super::eval::{plain, print_sets, print_worst};
use super::exit::unprinted;
use super::listener::Listener;
use super::request::{DrawnMesh, Eval};
use super::{Exit, Failure};
use crate::jobs::{News, OpenedScene, Purpose};
use crate::mesh::{MeshScores, Truth, TruthReport, TruthSettings};
use crate::run::{self, Drawn};
use kiln_scene::Split;

/// Measures `mesh` and prints to `out`.
///
/// # Errors
/// Anything that keeps the mesh from being measured; the caller prints it.
pub(super) fn run(mesh: &DrawnMesh, request: &Eval, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let mut listener = Listener::new(request.quiet);
    let opened = OpenedScene::of(Purpose::Eval, &request.model, &mut |news| listener.hear(&news))?;
    let drawn = Drawn::load(
        &mesh.path,
        mesh.samples,
        (&opened.profile, opened.run.as_deref()),
        &opened.open,
    )?;
    listener.say(format_args!("mesh: {}", drawn.describe()));
    let truth = request.truth.as_deref().map(|word| Truth::named(word, &opened.scene));
    let settings = TruthSettings {
        distances: request.distances.clone(),
        ..TruthSettings::default()
    };
    let evaluated = drawn.evaluate(
        &opened.scene,
        truth.as_ref().map(|truth| (truth, &settings)),
        &mut |now| listener.hear(&News::Views(run::News::Progress(now))),
    )?;
    for warning in &evaluated.warnings {
        listener.hear(&News::Warning(warning));
    }
    print(&evaluated.report, request.json, out).map_err(unprinted)?;
    Ok(Exit::Ok)
}

fn print(report: &MeshScores, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, report)?;
        return writeln!(out);
    }
    let file = plain(&report.file.to_string_lossy());
    writeln!(
        out,
        "{file}, {} bytes, drawn by {}, {n} x {n} samples a pixel",
        report.bytes,
        report.look,
        n = report.samples
    )?;
    writeln!(
        out,
        "{} vertices, {} triangles, {} pieces, {} open and {} non-manifold edges, Euler characteristic {}",
        report.vertices, report.triangles, report.pieces, report.open_edges, report.non_manifold_edges, report.euler
    )?;
    if let Some(range) = report.lpips_range {
        let sets = [
            (Split::Test, report.test.as_ref()),
            (Split::Train, report.train.as_ref()),
        ];
        print_sets(sets, range, out)?;
    }
    if let Some(test) = &report.test {
        print_worst(test, out)?;
    }
    if let Some(coverage) = report.coverage {
        writeln!(out, "coverage of the test views: {:.2} %", 100.0 * coverage)?;
    }
    report.truth.as_ref().map_or(Ok(()), |truth| print_truth(truth, out))
}

fn print_truth(truth: &TruthReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "against {}, lengths in scene units:", plain(&truth.truth))?;
    writeln!(out, "chamfer {:.6}", truth.chamfer)?;
    let heads = ["points", "mean", "median", "95 %", "normals", "median", "turned"];
    let heads = heads.map(|head| format!("{head:>12}")).concat();
    writeln!(out, "{:<14}{heads}", "")?;
    for (name, side) in [("accuracy", &truth.accuracy), ("completeness", &truth.completeness)] {
        let figure = |value: Option<f64>| match value {
            Some(value) => format!("{value:>12.3}"),
            None => format!("{:>12}", "-"),
        };
        let lengths = [side.mean, side.median, side.percent_95].map(|length| format!("{length:>12.6}"));
        let angles = [side.normals_mean, side.normals_median, side.normals_turned].map(figure);
        writeln!(
            out,
            "{name:<14}{:>12}{}{}",
            side.points,
            lengths.concat(),
            angles.concat()
        )?;
    }
    for within in &truth.within {
        let kinds = within
            .recall_of
            .iter()
            .map(|(kind, share)| format!(", {kind} {share:.4}"));
        writeln!(
            out,
            "within {:.6}: precision {:.4}, recall {:.4}, F1 {:.4}{}",
            within.distance,
            within.precision,
            within.recall,
            within.f1,
            kinds.collect::<String>()
        )?;
    }
    writeln!(out, "normals in degrees")
}
