//! `kiln eval`: the figures of a model against the photographs of a scene.

use std::io::{self, Write};

use super::exit::unprinted;
use super::listener::Listener;
use super::request::Eval;
use super::{Exit, Failure, UsageError, eval_mesh};
use crate::eval::LpipsRange;
use crate::eval::{EvalFile, LOW_DB, NamedView, SeenBy, SetReport};
use crate::export::write_json;
use crate::jobs::{News, Opened, Purpose};
use crate::project::{ProjectFolder, evaluation_path};
use crate::record::words::count;
use kiln_scene::Split;

/// Evaluates and prints to `out`.
///
/// # Errors
/// Anything that keeps the model from being evaluated; the caller prints it.
pub fn run(request: Eval, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    if let Some(mesh) = &request.mesh {
        return eval_mesh::run(mesh, &request, out);
    }
    let Eval {
        model,
        quiet,
        json,
        write,
        ..
    } = request;
    let of_project = write && ProjectFolder::is_one(&model.target);
    if write && !model.target.is_dir() {
        let shown = model.target.display().to_string();
        return Err(UsageError::WriteNeedsRun { shown }.into());
    }
    let mut listener = Listener::new(quiet);
    let mut listen = |news: News<'_>| listener.hear(&news);
    let opened = Opened::of(Purpose::Eval, &model, &mut listen)?;
    let scene = opened.scene(&model)?;
    let stored = opened.load(&model, &mut listen)?;
    let run = (write && !of_project).then_some(model.target.as_path());
    let evaluated = stored.evaluate(&scene, run, &mut |views| listen(News::Views(views)))?;
    for warning in &evaluated.warnings {
        listen(News::Warning(warning));
    }
    if of_project {
        write_json(&evaluation_path(&model.target), &evaluated.file)?;
    }
    print(&evaluated.file, json, out).map_err(unprinted)?;
    Ok(Exit::Ok)
}

fn print(file: &EvalFile, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, file)?;
        return writeln!(out);
    }
    match file.iteration {
        // Neither a merged model nor a file of another program is that of an iteration.
        0 => writeln!(out, "{}", count(file.gaussians, "Gaussian"))?,
        iteration => writeln!(out, "iteration {iteration}, {}", count(file.gaussians, "Gaussian"))?,
    }
    print_sets(
        [Split::Test, Split::Train].map(|set| (set, file.set(set))),
        file.lpips_range,
        out,
    )?;
    if let Some(mean) = file.mean_opacity {
        writeln!(out, "mean opacity {mean:.4}")?;
    }
    if let Some(test) = file.set(Split::Test) {
        print_worst(test, out)?;
    }
    file.seen_by.as_ref().map_or(Ok(()), |seen| print_seen(seen, out))
}

/// Prints a table with a row for each number of cameras that has pixels.
fn print_seen(seen: &SeenBy, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "pixels of test views by how many of {} see what they show",
        count(seen.training_views, "training camera")
    )?;
    writeln!(out, "  {:<8}{:>8}{:>12}", "seen by", "share", "psnr_image")?;
    for class in &seen.classes {
        let Some(psnr) = class.psnr_image else { continue };
        let (name, share) = (&class.cameras, 100.0 * class.share);
        writeln!(out, "  {name:<8}{share:>6.1} %{psnr:>12.3}")?;
    }
    Ok(())
}

/// Prints the worst test view and those far under the median.
pub(super) fn print_worst(test: &SetReport, out: &mut dyn Write) -> io::Result<()> {
    if let Some(worst) = &test.spread.worst {
        let fog = worst.fog_share.map(|share| format!(", fog share {share:.2}"));
        let (name, fog) = (plain(&worst.name), fog.unwrap_or_default());
        writeln!(out, "worst test view: {name}, {:.2} dB{fog}", worst.psnr_image)?;
    }
    print_low_views(&test.low_views, out)
}

/// Prints a table with a row a set, and what its figures are.
pub(super) fn print_sets(
    sets: [(Split, Option<&SetReport>); 2],
    lpips_range: LpipsRange,
    out: &mut dyn Write,
) -> io::Result<()> {
    let heads = [
        "l1",
        "psnr",
        "psnr_image",
        "median",
        "worst",
        "ssim",
        "ssim_valid",
        "lpips",
    ];
    let heads = heads.map(|head| format!("{head:>12}")).concat();
    writeln!(out, "{:<6}{:>6}{heads}", "set", "views")?;
    let figure = |value: Option<f64>, digits: usize| match value.filter(|v| v.is_finite()) {
        Some(value) => format!("{value:>12.digits$}"),
        None => format!("{:>12}", "-"),
    };
    let (mut has_lpips, mut corrected) = (false, Vec::new());
    for (set, report) in sets {
        let Some(report) = report else { continue };
        let (mean, spread) = (report.mean, &report.spread);
        has_lpips |= mean.lpips.is_some();
        corrected.extend(mean.psnr_fitted_half.map(|value| format!("{} {value:.3}", set.name())));
        let m = mean.metrics;
        let figures = [
            figure(Some(m.l1), 5),
            figure(Some(m.psnr), 3),
            figure(Some(m.psnr_image), 3),
            figure(spread.median, 3),
            figure(spread.worst.as_ref().map(|view| view.psnr_image), 3),
            figure(Some(m.ssim), 5),
            figure(m.ssim_valid, 5),
            figure(mean.lpips, 5),
        ];
        writeln!(out, "{:<6}{:>6}{}", set.name(), mean.n, figures.concat())?;
    }
    if has_lpips {
        let range = match lpips_range {
            LpipsRange::ZeroOne => "[0, 1]",
            LpipsRange::MinusOneOne => "[-1, 1]",
        };
        writeln!(out, "PSNR in dB; LPIPS with VGG16 on {range}")?;
    } else {
        writeln!(out, "PSNR in dB")?;
    }
    if !corrected.is_empty() {
        let figures = corrected.join(", ");
        writeln!(
            out,
            "psnr_fitted_half (psnr_image of the right half, colours fitted on the left): {figures}"
        )?;
    }
    Ok(())
}

/// Prints the views that lie far under the median of their set; nothing when there are none.
pub(super) fn print_low_views(views: &[NamedView], out: &mut dyn Write) -> io::Result<()> {
    if views.is_empty() {
        return Ok(());
    }
    let of = if views.len() == 1 { "view" } else { "views" };
    writeln!(out, "{} test {of} {LOW_DB} dB or more under the median", views.len())?;
    let width = views.iter().map(|view| plain(&view.name).chars().count()).max();
    let width = width.unwrap_or(0).max(4);
    writeln!(out, "  {:<width$}{:>12}{:>12}", "view", "psnr_image", "fog share")?;
    for view in views {
        let fog = view.fog_share.map_or("-".to_owned(), |share| format!("{share:.2}"));
        writeln!(out, "  {:<width$}{:>12.3}{fog:>12}", plain(&view.name), view.psnr_image)?;
    }
    Ok(())
}

/// A name from outside cannot move the cursor.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::eval::{SeenClass, ViewMetrics, ViewRow};

    fn file(lpips: Option<f64>) -> EvalFile {
        let mut file = EvalFile::new(7, 1000, 1.5, LpipsRange::MinusOneOne);
        let metrics = ViewMetrics {
            l1: 0.0125,
            psnr: 27.5,
            psnr_image: f64::NAN,
            ssim: 0.875,
            ssim_valid: None,
        };
        file.put(
            Split::Test,
            vec![ViewRow {
                name: "a".to_owned(),
                width: 10,
                height: 10,
                metrics,
                lpips,
                psnr_fitted_half: None,
                fog_share: None,
                images: false,
            }],
        );
        file
    }

    fn printed(file: &EvalFile, json: bool) -> String {
        let mut out = Vec::new();
        print(file, json, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_has_a_row_a_set() {
        let expected = "iteration 7, 1000 Gaussians\n\
            set    views          l1        psnr  psnr_image      median       worst        ssim  ssim_valid       lpips\n\
            test       1     0.01250      27.500           -           -           -     0.87500           -     0.25000\n\
            PSNR in dB; LPIPS with VGG16 on [-1, 1]\n";
        assert_eq!(printed(&file(Some(0.25)), false), expected);
        assert!(printed(&file(None), false).ends_with("         -\nPSNR in dB\n"));
        let merged = EvalFile::new(0, 1000, 1.5, LpipsRange::MinusOneOne);
        assert!(printed(&merged, false).starts_with("1000 Gaussians\n"));
        let mut views = file(None).set(Split::Test).unwrap().views.clone();
        views[0].psnr_fitted_half = Some(28.25);
        let mut corrected = file(None);
        corrected.put(Split::Test, views);
        let said =
            "PSNR in dB\npsnr_fitted_half (psnr_image of the right half, colours fitted on the left): test 28.250\n";
        assert!(printed(&corrected, false).ends_with(said));
        assert!(printed(&corrected, true).contains("\"psnr_fitted_half\": 28.25"));
        assert!(
            !printed(&file(None), true).contains("psnr_fitted_half"),
            "only when asked for"
        );
    }

    #[test]
    fn views_far_under_the_median_are_listed() {
        let row = file(None).set(Split::Test).unwrap().views[0].clone();
        let view = |name: &str, psnr_image: f64, fog_share: Option<f64>| {
            let mut view = row.clone();
            (view.name, view.metrics.psnr_image, view.fog_share) = (name.to_owned(), psnr_image, fog_share);
            view
        };
        let mut file = file(None);
        let views = vec![
            view("view_000", 18.9, Some(0.5512)),
            view("view_008", 27.3, Some(0.01)),
            view("view_016", 29.5, None),
            view("view\u{7}024", 15.6781, None),
            view("view_032", 30.2, Some(0.0)),
        ];
        file.put(Split::Train, vec![view("low", 1.0, None), view("high", 30.0, None)]);
        file.put(Split::Test, views);
        let text = printed(&file, false);
        let table = "PSNR in dB\n\
            worst test view: view?024, 15.68 dB\n\
            2 test views 2 dB or more under the median\n  \
              view      psnr_image   fog share\n  \
              view?024      15.678           -\n  \
              view_000      18.900        0.55\n";
        assert!(text.ends_with(table), "{text}");
        assert!(text.contains("      24.316      27.300      15.678"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&printed(&file, true)).unwrap();
        assert_eq!(json["test"]["median"], 27.3);
        assert_eq!(json["test"]["low_views"][1]["fog_share"], 0.5512);
        assert_eq!(json["test"]["worst_fog_share"], 0.5512);
    }

    #[test]
    fn pixels_are_listed_by_the_cameras_that_see_them() {
        let mut file = file(None);
        let class = |cameras: &str, share: f64, psnr_image| SeenClass {
            cameras: cameras.to_owned(),
            share,
            psnr_image,
        };
        file.seen_by = Some(SeenBy {
            training_views: 21,
            every_px: 4,
            tolerance: 0.05,
            classes: vec![
                class("0", 0.0625, Some(15.5)),
                class("1", 0.0, None),
                class("more", 0.9375, Some(30.25)),
            ],
        });
        let table = "PSNR in dB\n\
            pixels of test views by how many of 21 training cameras see what they show\n  \
              seen by    share  psnr_image\n  \
              0          6.2 %      15.500\n  \
              more      93.8 %      30.250\n";
        let text = printed(&file, false);
        assert!(text.ends_with(table), "{text}");
        let json: serde_json::Value = serde_json::from_str(&printed(&file, true)).unwrap();
        assert_eq!(json["seen_by"]["classes"][1]["psnr_image"], serde_json::Value::Null);
    }

    #[test]
    fn json_is_the_file_of_a_run() {
        let text = printed(&file(Some(0.25)), true);
        let back: EvalFile = serde_json::from_str(&text).unwrap();
        assert_eq!(back.set(Split::Test).unwrap().mean.lpips, Some(0.25));
        assert!(text.ends_with("}\n"));
    }
}
