//! A made scene for tests of maps: photos from one place of what lies at known depths.

use std::fmt::Write as _;

use kiln_scratch::Scratch;

pub(crate) const WIDTH: u32 = 40;
pub(crate) const HEIGHT: u32 = 30;
pub(crate) const PHOTOS: u32 = 3;

pub(crate) fn pixels() -> impl Iterator<Item = (u32, u32)> {
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y)))
}

/// Where a pixel looks, in the camera's axes, to depth 1.
pub(crate) fn ray(x: u32, y: u32) -> [f64; 3] {
    [
        (f64::from(x) + 0.5 - 20.0) / 30.0,
        (f64::from(y) + 0.5 - 15.0) / 30.0,
        1.0,
    ]
}

/// Three photos from one place, and the points that every `every`-th pixel of every `every`-th row shows.
pub(crate) fn scene(every: u32, depth: impl Fn(u32, u32) -> f64) -> Scratch {
    let folder = Scratch::new();
    folder.write(
        "sparse/0/cameras.txt",
        format!("1 PINHOLE {WIDTH} {HEIGHT} 30 30 20 15\n"),
    );
    let images: String = (1..=PHOTOS)
        .map(|n| format!("{n} 1 0 0 0 0 0 0 1 p{n}.png\n\n"))
        .collect();
    folder.write("sparse/0/images.txt", images);
    let mut points = String::new();
    for (x, y) in pixels().filter(|(x, y)| x.is_multiple_of(every) && y.is_multiple_of(every)) {
        let z = depth(x, y);
        let [px, py, pz] = ray(x, y).map(|v| v * z);
        // a String takes all
        let _ = writeln!(points, "{} {px} {py} {pz} 9 9 9 0.5 1 0", 1 + x + WIDTH * y);
    }
    folder.write("sparse/0/points3D.txt", points);
    for n in 1..=PHOTOS {
        let bytes = vec![90; (WIDTH * HEIGHT * 3) as usize];
        folder.write_png(&format!("images/p{n}.png"), WIDTH, HEIGHT, 3, &bytes);
    }
    folder
}
