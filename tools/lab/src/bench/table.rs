//! The figures of a bench as text.

use super::figures::Figures;

/// `value` with so many digits behind the point; a dash for none.
fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.digits$}"))
}

/// The passes of one scene: time, share, bytes of the model, rate.
pub(super) fn of_passes(of: &Figures) -> String {
    let mut text = format!(
        "{}: {:.0} Gaussians, {:.0} visible, {:.0} intersections, {:.2} MP, on {} ({})\n",
        of.scene.name,
        of.sizes.gaussians,
        of.sizes.visible,
        of.sizes.intersections,
        of.sizes.pixels / 1e6,
        of.device,
        of.driver
    );
    let width = of.passes.iter().map(|pass| pass.name.len()).max().unwrap_or(0).max(4);
    text += &format!(
        "{:width$} {:>6} {:>9} {:>7} {:>9} {:>8}\n",
        "pass", "calls", "ms", "share", "MB", "GB/s"
    );
    for pass in &of.passes {
        text += &format!(
            "{:width$} {:>6.1} {:>9.4} {:>6.1}% {:>9} {:>8}\n",
            pass.name,
            pass.calls,
            pass.ms,
            100.0 * pass.ms / of.busy_ms.max(f64::MIN_POSITIVE),
            number(pass.bytes.map(|bytes| bytes / 1e6), 1),
            number(pass.gb_per_s(), 0)
        );
    }
    let (rate, given) = of.bandwidth_gb_s;
    text += &format!(
        "all passes {:.3} ms of {:.3} ms a step, {:.1} % idle; host {:.3} ms; {:.1} MB at {rate:.0} GB/s ({}) take {:.3} ms\n",
        of.busy_ms,
        of.step_ms,
        100.0 * of.idle(),
        of.host_ms,
        of.bytes() / 1e6,
        if given { "given" } else { "the best of these passes" },
        of.bound_ms()
    );
    if let Some((ms, times)) = of.reference_ms.zip(of.references()) {
        text += &format!(
            "the reference pass, whose work never changes, takes {ms:.4} ms: a step takes {times:.2} of them\n"
        );
    }
    text
}

/// One line a scene.
pub(super) fn of_scenes(all: &[Figures]) -> String {
    let width = all.iter().map(|of| of.scene.name.len()).max().unwrap_or(0).max(5);
    let mut text = format!(
        "{:width$} {:>8} {:>8} {:>7} {:>8} {:>7} {:>10} {:>10} {:>10} {:>10} {:>8} {:>7}\n",
        "scene", "it/s", "steady", "ratio", "host ms", "idle", "mean N", "N", "visible", "intersect.", "bound", "PSNR"
    );
    for of in all {
        text += &format!(
            "{:width$} {:>8.1} {:>8.1} {:>7} {:>8.3} {:>6.1}% {:>10.0} {:>10.0} {:>10.0} {:>10.0} {:>8.3} {:>7}\n",
            of.scene.name,
            of.rate,
            of.steady_rate,
            number(of.references(), 2),
            of.host_ms,
            100.0 * of.idle(),
            of.gaussians[0],
            of.gaussians[1],
            of.sizes.visible,
            of.sizes.intersections,
            of.bound_ms(),
            of.quality.map_or("-".to_owned(), |[psnr, _]| format!("{psnr:.2}"))
        );
    }
    text
}
