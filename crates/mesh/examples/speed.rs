//! How long the stages take: `cargo run --release -p kiln-mesh --example speed [MILLIONS] [decimate]`; with the word nothing but
//! decimation, and the most memory the process held (where the system says).
//!
//! A torus of so many million triangles (default 1) with a little noise is written and read, decimated to a tenth, laid
//! out and scored; 64 voxels a triangle are marched over, and half of the vertices are joined by tetrahedra. Equal
//! arguments give equal meshes on any machine.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::f32::consts::TAU;
use std::ops::ControlFlow;
use std::time::Instant;

use kiln_mesh::decimate::{Target, decimate, host_bytes};
use kiln_mesh::march::{Field, Grid, dense};
use kiln_mesh::score::{Settings, Truth, score};
use kiln_mesh::{Mesh, charts, delaunay, obj, ply, topology};

fn main() -> Result<(), Box<dyn Error>> {
    let millions: f64 = std::env::args().nth(1).map_or(Ok(1.0), |word| word.parse())?;
    let alone = std::env::args().nth(2).is_some_and(|word| word == "decimate");
    let across = (millions * 250_000.0).sqrt().max(3.0) as u32;
    // A tenth of an edge.
    let noisy = torus(across, 0.5 / across as f32)?;
    let count = noisy.triangles().len() as u64;
    let bytes = host_bytes(noisy.positions().len() as u64, count);
    println!("{count} triangles, {:.2} GB to decimate", bytes as f64 / 1e9);

    if alone {
        println!("{:.2} GB held before", held().unwrap_or_default());
        decimated(noisy, count)?;
        println!("peak {:.2} GB", held().unwrap_or_default());
        return Ok(());
    }
    let exact = torus(across, 0.0)?;
    for (name, write, read) in FORMATS {
        let (start, mut bytes) = (Instant::now(), Vec::new());
        write(&noisy, &mut bytes)?;
        let (written, start) = (start.elapsed(), Instant::now());
        let same = read(&bytes)?;
        println!(
            "{name} of {} MB written in {written:.2?}, read in {:.2?}",
            bytes.len() / 1_000_000,
            start.elapsed()
        );
        assert_eq!(same.positions(), noisy.positions());
    }

    let small = decimated(noisy.clone(), count)?;

    let start = Instant::now();
    let (_, layout) = charts::charts(small, charts::Settings::default(), &mut on)?;
    println!(
        "laid out in {:.2?}: {} charts, {:.3} filled",
        start.elapsed(),
        layout.charts,
        layout.fill
    );

    let start = Instant::now();
    let found = score(&noisy, Truth::Mesh(&exact), &Settings::default(), &mut on)?;
    println!("scored in {:.2?}: Chamfer {:.2e}", start.elapsed(), found.chamfer);

    let side = (millions * 64e6).cbrt() as u32;
    let start = Instant::now();
    let ball = dense(
        &Ball(side),
        Grid {
            origin: [0.0; 3],
            voxel: 1.0,
        },
        &mut on,
    )?;
    println!(
        "marched over {side}^3 voxels in {:.2?}: {} triangles",
        start.elapsed(),
        ball.triangles().len()
    );

    let points: Vec<[f32; 3]> = noisy.positions().iter().copied().step_by(2).collect();
    let start = Instant::now();
    let tetrahedra = delaunay::tetrahedra(&points, &mut on)?;
    println!(
        "{} points joined in {:.2?}: {} tetrahedra",
        points.len(),
        start.elapsed(),
        tetrahedra.points.len()
    );
    Ok(())
}

/// A tenth of a mesh of `count` triangles.
fn decimated(mesh: Mesh, count: u64) -> Result<Mesh, kiln_mesh::Error> {
    let start = Instant::now();
    let (small, done) = decimate(mesh, Target::Triangles(count / 10), &mut on)?;
    let seconds = start.elapsed();
    println!(
        "decimated in {seconds:.2?}: {}, error {:.2e}",
        topology::report(&small),
        done.error
    );
    Ok(small)
}

/// The most memory that this process has held, GB.
fn held() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024.0 / 1e9)
}

/// Files that are written and read.
type Format = (
    &'static str,
    fn(&Mesh, &mut Vec<u8>) -> Result<(), kiln_mesh::Error>,
    fn(&[u8]) -> Result<Mesh, kiln_mesh::Error>,
);
const FORMATS: [Format; 2] = [
    ("PLY", |mesh, out| ply::write(mesh, &[], out), |bytes| ply::read(bytes)),
    ("OBJ", |mesh, out| obj::write(mesh, None, out), |bytes| obj::read(bytes)),
];

/// Nobody looks.
fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A torus of radii 2 and 0.7, twice as many quads around as across, every place moved by up to `noise` along each axis.
fn torus(across: u32, noise: f32) -> Result<Mesh, kiln_mesh::Error> {
    let around = 2 * across;
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / 8_388_608.0 - 1.0) * noise
    };
    let mut positions = Vec::new();
    for i in 0..around {
        for j in 0..across {
            let (a, b) = (TAU * i as f32 / around as f32, TAU * j as f32 / across as f32);
            let r = 2.0 + 0.7 * b.cos();
            positions.push([r * a.cos(), r * a.sin(), 0.7 * b.sin()].map(|x| x + random()));
        }
    }
    let at = |i: u32, j: u32| i % around * across + j % across;
    let quads = (0..around).flat_map(|i| (0..across).map(move |j| (i, j)));
    let triangles = quads.flat_map(|(i, j)| {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        [[a, b, c], [a, c, d]]
    });
    let triangles = triangles.collect();
    Mesh::new(positions, triangles)
}

/// A ball in a cube of so many points a side.
struct Ball(u32);

impl Field for Ball {
    fn size(&self) -> [u32; 3] {
        [self.0; 3]
    }

    fn value(&self, at: [u32; 3]) -> Option<f32> {
        let side = self.0 as f32;
        let squares = at.map(|x| (x as f32 - 0.5 * side).powi(2));
        Some(squares.iter().sum::<f32>().sqrt() - 0.4 * side)
    }
}
