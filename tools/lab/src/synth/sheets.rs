//! Wavy sheets of points in front of a grid of cameras, and the one photo that all of these take.
//!
//! Exactly as many points are in view as requested. Points lie on four wavy sheets in front of a small grid of
//! cameras that all look the same way, so a trained model has the overlap of surfaces and not that of fog. Points outside
//! every view lie behind the cameras in the same way. Photos and points share one smooth colour field with a finer pattern
//! in it, so that a loss has something to learn. All photos are the same, so they say nothing about shapes.

use kiln_twins::rng::uniform;

use super::Synthetic;
use super::colmap::Point;

/// Sheets of points.
const SHEETS: u32 = 4;
/// Distance of the first sheet, world units; the others follow one unit apart.
const NEAREST: f64 = 2.5;
/// Height of a sheet's waves, world units.
const WAVES: f64 = 0.2;
/// Share of the image on every side where no point lies, so that all cameras see all of them.
const MARGIN: f64 = 0.06;

impl Synthetic {
    /// Centre of a view of sheets: on a square grid, so far out at most that the nearest points stay in the image.
    pub(super) fn place(&self, view: u32) -> [f64; 2] {
        let side = f64::from(self.views).sqrt().ceil().max(2.0);
        let smaller = f64::from(self.size_px[0].min(self.size_px[1]));
        let farthest = 0.8 * MARGIN * smaller * (NEAREST - WAVES) / self.focal();
        let at = |index: f64| (2.0 * index / (side - 1.0) - 1.0) * farthest;
        [at(f64::from(view) % side), at((f64::from(view) / side).floor())]
    }

    /// Number `id` of the points.
    pub(super) fn sheets_point(&self, id: u32) -> Point {
        let [x, y]: [f64; 2] =
            [0, 1].map(|channel| MARGIN + (1.0 - 2.0 * MARGIN) * uniform::<f64>(self.seed, 1, id, channel));
        let wave = (9.0 * x).sin() * (7.0 * y).cos();
        let depth = NEAREST + f64::from(id % SHEETS) + WAVES * wave;
        let [width, height] = self.size_px.map(f64::from);
        let in_view = self.visible.is_none_or(|visible| id < visible);
        let side = if in_view { depth } else { -depth };
        Point {
            position: [
                (x - 0.5) * width / self.focal() * depth,
                (y - 0.5) * height / self.focal() * depth,
                side,
            ],
            color: color([x, y]),
        }
    }

    /// Red, green, blue of every pixel of sheets, row by row.
    pub(super) fn sheets_photo(&self) -> Vec<u8> {
        let [width, height] = self.size_px;
        let at = |index: u32, side: u32| (f64::from(index) + 0.5) / f64::from(side);
        (0..height)
            .flat_map(|row| (0..width).flat_map(move |column| color([at(column, width), at(row, height)])))
            .collect()
    }
}

/// The colour at a place of the image, both coordinates from 0 to 1.
fn color([x, y]: [f64; 2]) -> [u8; 3] {
    let fine = (61.0 * x).sin() * (47.0 * y).sin();
    [0.0, 2.1, 4.2].map(|phase| {
        let value = 0.5 + 0.28 * (5.0 * x + 3.0 * y + phase).sin() + 0.14 * fine;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0.08 and 0.92"
        )]
        let byte = (255.0 * value) as u8;
        byte
    })
}
