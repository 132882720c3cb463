//! What a Poisson reconstruction takes: `cargo run --release -p kiln-mesh --example poisson [POINTS] [DEPTH]`.
//!
//! So many points (default 500 000) of a bumpy sphere, moved by a thousandth of its radius, at a depth (default 8). Equal
//! arguments give equal meshes on any machine.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use kiln_mesh::poisson::{Depth, Options, reconstruct};
use kiln_mesh::topology;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let count: usize = words.next().map_or(Ok(500_000), |word| word.parse())?;
    let depth: u32 = words.next().map_or(Ok(8), |word| word.parse())?;
    let (points, normals) = bumpy(count);
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let options = Options {
        depth: Depth::Exactly(depth),
        density_quantile: 0.0,
        ..Options::default()
    };
    let start = Instant::now();
    let found = reconstruct(&points, &normals, None, &options, &mut |_| ControlFlow::Continue(()))?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{count} points at depth {depth}: {seconds:.1} s, {:.0} points/s, {} blocks, {:.0} MB of {:.0} predicted; {}",
        count as f64 / seconds,
        found.blocks,
        (ALLOCATED.peak_usage() - before) as f64 / 1e6,
        found.bytes as f64 / 1e6,
        topology::report(&found.mesh)
    );
    Ok(())
}

/// Points with normals, evenly spread over a sphere by the golden angle, of a radius with waves.
fn bumpy(count: usize) -> (Vec<[f32; 3]>, Vec<[f32; 3]>) {
    let angle = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f64::from(state >> 8) / 8_388_608.0 - 1.0) * 1e-3
    };
    let place = |z: f64, phi: f64| {
        let flat = (1.0 - z * z).max(0.0).sqrt();
        let radius = 1.0 + 0.1 * (6.0 * z).sin() * (5.0 * phi).cos() * flat;
        [flat * phi.cos(), flat * phi.sin(), z].map(|x| radius * x)
    };
    let point = |index: usize| {
        let z = (2.0 * index as f64 + 1.0) / count as f64 - 1.0;
        let (z, phi) = (z.clamp(-0.9999, 0.9999), angle * index as f64);
        // The normal by differences along both lines.
        let step = 1e-5;
        let along = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|i| a[i] - b[i]);
        let u = along(place(z, phi + step), place(z, phi - step));
        let v = along(place(z + step, phi), place(z - step, phi));
        let normal = [
            u[1] * v[2] - u[2] * v[1],
            u[2] * v[0] - u[0] * v[2],
            u[0] * v[1] - u[1] * v[0],
        ];
        let longest = normal.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let point = place(z, phi).map(|x| (x + noise()) as f32);
        (point, normal.map(|x| (x / longest) as f32))
    };
    (0..count).map(point).unzip()
}
