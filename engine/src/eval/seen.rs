//! How many training cameras see what a test view shows, and how good the view is there.
//!
//! A place that one camera saw, or none, is a guess of the model; a mean over pixels hides how good its guesses are. The place of a
//! pixel is where the model has it: at the depth where half of its light is blocked. A training camera sees it when its
//! picture contains the place and its own depth there is the same to [`TOLERANCE`]: with something in front it does not, and fog
//! before a test camera, which training cameras look through, is seen by none. Every [`EVERY_PX`]th pixel of every such row is looked
//! at. Masks of training photos do not count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::psnr;
use kiln_scene::Camera;

/// Steps of the grid of pixels that are looked at.
pub const EVERY_PX: u32 = 4;
/// Share of a depth by which two depths of one place may differ.
pub const TOLERANCE: f64 = 0.05;
/// Least share of a pixel's light that splats block, for there to be a depth.
const LEAST_COVERED: f64 = 0.5;
/// Depths that differ by less than this share, about, are one: sums in f32 tell no two apart.
const LEAST_DEVIATION: f64 = 0.01;
/// Fewest cameras of each class, but for pixels without a depth, and its name.
const CLASSES: [(u16, &str); 5] = [(0, "0"), (1, "1"), (2, "2"), (3, "3-5"), (6, "more")];
/// Name of the class of pixels that have no depth.
const NOWHERE: &str = "no depth";

/// Pixels of all test views by how many training cameras see what they show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenBy {
    /// Training cameras that were counted.
    pub training_views: u32,
    /// Every so many pixels of every so many rows were looked at.
    pub every_px: u32,
    /// Share of a depth by which a camera's own depth may differ.
    pub tolerance: f64,
    /// The classes, from few cameras to many, and at last pixels without a depth, where the model blocks less than half of the light.
    pub classes: Vec<SeenClass>,
}

/// Pixels that equally many cameras see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenClass {
    /// How many: `0`, `1`, `2`, `3-5`, `more`; or `no depth`.
    pub cameras: String,
    /// Share of the pixels that were looked at, 0 to 1.
    pub share: f64,
    /// PSNR of one squared error over all of its pixels and channels, dB, at most 100; null without pixels.
    pub psnr_image: Option<f64>,
}

/// Depths of a picture, row by row, 0 for none. `image` is a rendering over black with the first three powers of the logarithm of
/// each splat's depth as its colour, and the transmittance as fourth value (`StepUniforms` flag `NEAR` with a limit below 0).
///
/// Two depths and their weights follow from the sum of the weights and these three moments, as if all splats lay at the two (Gaussian
/// quadrature): haze and what is behind it, or the two sides of an edge. The nearer one is the depth where it blocks half of the
/// light, and else the other. A mean depth would lie between them, where nothing is.
#[must_use]
pub fn depths(image: &[[f32; 4]]) -> Vec<f32> {
    image.iter().map(|pixel| depth(pixel).unwrap_or(0.0)).collect()
}

fn depth(pixel: &[f32; 4]) -> Option<f32> {
    let [first, second, third, left] = pixel.map(f64::from);
    let covered = 1.0 - left;
    if covered.is_nan() || covered < LEAST_COVERED {
        return None;
    }
    let [first, second, third] = [first, second, third].map(|sum| sum / covered);
    let deviation = (second - first * first).max(0.0).sqrt();
    let away = if deviation < LEAST_DEVIATION {
        first
    } else {
        let skewness = (third - 3.0 * first * second + 2.0 * first.powi(3)) / deviation.powi(3);
        let root = (skewness * skewness + 4.0).sqrt();
        let weight_of_nearer = 0.5 * (1.0 + skewness / root);
        let side = if covered * weight_of_nearer >= 0.5 { -root } else { root };
        first + 0.5 * deviation * (skewness + side)
    };
    #[expect(clippy::cast_possible_truncation, reason = "as the depths that it is of")]
    Some(away.exp() as f32).filter(|depth| depth.is_finite() && *depth > 0.0)
}

/// The pixels of a test view that are looked at.
#[derive(Clone, Debug, Default)]
pub struct TestedPixels(Vec<Tested>);

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Tested {
    /// What it shows, world space.
    place: Option<[f32; 3]>,
    /// Sum of the squared errors of its channels.
    squared: f32,
    /// Training cameras that see the place.
    cameras: u16,
}

impl TestedPixels {
    /// Those of the view of `camera` with these depths (0 for none), that count by `mask`; `image` against `photo`, 8-bit RGB.
    #[must_use]
    pub fn new(camera: &Camera, depths: &[f32], image: &[[f32; 4]], photo: &[u8], mask: Option<&[u8]>) -> Self {
        let counts = |at: usize| mask.is_none_or(|mask| mask.get(at).is_some_and(|value| *value != 0));
        let photo = photo.as_chunks::<3>().0;
        let first = EVERY_PX / 2;
        let rows = (first..camera.height_px).step_by(EVERY_PX as usize);
        let pixels = rows.flat_map(|y| {
            let columns = (first..camera.width_px).step_by(EVERY_PX as usize);
            columns.map(move |x| (x, y))
        });
        let tested = |(x, y): (u32, u32)| {
            let at = y as usize * camera.width_px as usize + x as usize;
            let (image, photo, depth) = (image.get(at)?, photo.get(at)?, *depths.get(at)?);
            let squared = (0..3).map(|c| (image[c].clamp(0.0, 1.0) - f32::from(photo[c]) / 255.0).powi(2));
            let tested = Tested {
                place: place(camera, [x, y], depth),
                squared: squared.sum(),
                cameras: 0,
            };
            counts(at).then_some(tested)
        };
        Self(pixels.filter_map(tested).collect())
    }

    /// Counts a training camera with these depths where it sees what pixels show.
    pub fn count(&mut self, camera: &Camera, depths: &[f32]) {
        for pixel in &mut self.0 {
            let Some([x, y, away]) = pixel.place.and_then(|place| camera.sees(place)) else {
                continue;
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "inside the picture"
            )]
            let at = y as usize * camera.width_px as usize + x as usize;
            let own = depths.get(at).copied().unwrap_or(0.0);
            if f64::from((own - away).abs()) <= TOLERANCE * f64::from(away) {
                pixel.cameras = pixel.cameras.saturating_add(1);
            }
        }
    }
}

/// What a pixel shows, world space.
fn place(camera: &Camera, [x, y]: [u32; 2], depth: f32) -> Option<[f32; 3]> {
    let ray = camera.ray([x as f32 + 0.5, y as f32 + 0.5]).filter(|_| depth > 0.0)?;
    let off = [0, 1, 2].map(|i| ray[i] * depth - camera.translation[i]);
    Some([0, 1, 2].map(|axis| (0..3).map(|row| camera.rotation[row][axis] * off[row]).sum()))
}

/// The classes of the pixels of all test views, once every training camera was counted; `None` without pixels.
#[must_use]
pub fn seen_by(views: &[TestedPixels], training_views: u32) -> Option<SeenBy> {
    let mut sums = [(0_u64, 0.0_f64); CLASSES.len() + 1];
    for pixel in views.iter().flat_map(|view| &view.0) {
        let class = match pixel.place {
            Some(_) => CLASSES.iter().rposition(|(fewest, _)| pixel.cameras >= *fewest),
            None => None,
        };
        let (count, squared) = &mut sums[class.unwrap_or(CLASSES.len())];
        *count += 1;
        *squared += f64::from(pixel.squared);
    }
    let all: u64 = sums.iter().map(|(count, _)| count).sum();
    let names = CLASSES.iter().map(|(_, name)| *name).chain([NOWHERE]);
    let class = |(name, &(count, squared)): (&str, &(u64, f64))| SeenClass {
        cameras: name.to_owned(),
        share: count as f64 / all as f64,
        psnr_image: Some(psnr(squared / (3.0 * count as f64))).filter(|value| count > 0 && value.is_finite()),
    };
    (all > 0).then(|| SeenBy {
        training_views,
        every_px: EVERY_PX,
        tolerance: TOLERANCE,
        classes: names.zip(&sums).map(class).collect(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const SIZE: [u32; 2] = [40, 24];

    /// Looks along +z from a place, 40 pixels and 53 degrees wide.
    fn camera(at: [f32; 3]) -> Camera {
        Camera {
            width_px: SIZE[0],
            height_px: SIZE[1],
            fx: 40.0,
            fy: 40.0,
            cx: 20.0,
            cy: 12.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: at.map(|v| -v),
            lens: None,
        }
    }

    /// Depths of a wall at z = 4 with a board at z = 2 between two places along x, as a camera sees them.
    fn depths(camera: &Camera, board: Option<[f32; 2]>) -> Vec<f32> {
        let [x, _, z] = camera.position();
        let pixel = |column: u32| {
            let slope = (column as f32 + 0.5 - camera.cx) / camera.fx;
            let meets = x + slope * (2.0 - z);
            let is_board = board.is_some_and(|[from, to]| (from..to).contains(&meets));
            if is_board { 2.0 - z } else { 4.0 - z }
        };
        (0..SIZE[1]).flat_map(|_| (0..SIZE[0]).map(pixel)).collect()
    }

    /// A test camera in the middle, one that sees the right half of the wall from 2 to the right, one in the middle that a board hides
    /// the left half from, and one that looks through all of it.
    #[test]
    fn cameras_count_where_they_see_the_place_itself() {
        let test = camera([0.0; 3]);
        let wall = depths(&test, None);
        let pixels = (SIZE[0] * SIZE[1]) as usize;
        // black against 51 on the left, and against 102 on the right
        let photo: Vec<u8> = (0..pixels)
            .flat_map(|at| if at % 40 < 20 { [51; 3] } else { [102; 3] })
            .collect();
        let mut tested = TestedPixels::new(&test, &wall, &vec![[0.0, 0.0, 0.0, 1.0]; pixels], &photo, None);
        assert_eq!(tested.0.len(), 60);
        let right = camera([2.0, 0.0, 0.0]);
        tested.count(&right, &depths(&right, None));
        let hidden = camera([0.0, 0.0, 0.2]);
        tested.count(&hidden, &depths(&hidden, Some([-9.0, 0.0])));
        let through = camera([0.0, 0.0, -0.5]);
        tested.count(&through, &vec![9.0; pixels]);
        let seen = seen_by(&[tested], 3).unwrap();
        let rows: Vec<(&str, f64)> = seen.classes.iter().map(|row| (&*row.cameras, row.share)).collect();
        // The nearer camera misses the outermost pixels: of the columns 2, 6, .. 38 it sees 2 as 1.05, and 38 as 39.4.
        assert_eq!(
            rows,
            [
                ("0", 0.5),
                ("1", 0.0),
                ("2", 0.5),
                ("3-5", 0.0),
                ("more", 0.0),
                ("no depth", 0.0)
            ]
        );
        let psnrs: Vec<Option<f64>> = seen.classes.iter().map(|row| row.psnr_image).collect();
        let close = |found: Option<f64>, wanted: f64| assert!((found.unwrap() - wanted).abs() < 1e-4, "{found:?}");
        close(psnrs[0], -20.0 * (0.2_f64).log10());
        close(psnrs[2], -20.0 * (0.4_f64).log10());
        assert!([1, 3, 4, 5].iter().all(|row| psnrs[*row].is_none()));
        assert_eq!((seen.training_views, seen.every_px), (3, 4));
    }

    #[test]
    fn depths_may_differ_a_little_and_masked_pixels_do_not_count() {
        let test = camera([0.0; 3]);
        let pixels = (SIZE[0] * SIZE[1]) as usize;
        let (image, photo) = (vec![[0.5; 4]; pixels], vec![128; 3 * pixels]);
        let left: Vec<u8> = (0..pixels).map(|at| u8::from(at % 40 < 20)).collect();
        let mut tested = TestedPixels::new(&test, &vec![4.0; pixels], &image, &photo, Some(&left));
        assert_eq!(tested.0.len(), 30);
        for depth in [4.19, 3.81, 4.21, 3.79, 0.0, f32::NAN] {
            tested.count(&test, &vec![depth; pixels]);
        }
        let seen = seen_by(&[tested], 6).unwrap();
        assert_eq!((seen.classes[2].cameras.as_str(), seen.classes[2].share), ("2", 1.0));
        // nothing there, and no pixels at all
        let empty = TestedPixels::new(&test, &vec![0.0; pixels], &image, &photo, None);
        let seen = seen_by(&[empty], 6).unwrap();
        assert_eq!(
            (seen.classes[5].cameras.as_str(), seen.classes[5].share),
            ("no depth", 1.0)
        );
        assert_eq!(seen_by(&[TestedPixels::default()], 6), None);
    }

    #[test]
    fn five_cameras_are_some_and_six_are_more() {
        let test = camera([0.0; 3]);
        let pixels = (SIZE[0] * SIZE[1]) as usize;
        let (image, photo, wall) = (vec![[0.5; 4]; pixels], vec![128; 3 * pixels], vec![4.0; pixels]);
        let mut tested = TestedPixels::new(&test, &wall, &image, &photo, None);
        for (cameras, class) in [(1, 1), (2, 2), (3, 3), (4, 3), (5, 3), (6, 4), (7, 4)] {
            tested.count(&test, &wall);
            let seen = seen_by(std::slice::from_ref(&tested), cameras).unwrap();
            assert_eq!(seen.classes[class].share, 1.0, "{cameras}");
        }
    }

    #[test]
    fn depths_are_where_half_of_the_light_is_blocked() {
        let pixel = |splats: &[(f64, f64)]| {
            let moment = |power| {
                splats
                    .iter()
                    .map(|(depth, weight)| weight * depth.ln().powi(power))
                    .sum::<f64>()
            };
            let left = 1.0 - splats.iter().map(|(_, weight)| weight).sum::<f64>();
            [moment(1), moment(2), moment(3), left].map(|value| value as f32)
        };
        for (splats, wanted) in [
            (&[(4.0, 0.75)][..], 4.0),
            // thin haze before a wall, thick haze, and a wall that shows through a thin one
            (&[(0.5, 0.2), (30.0, 0.75)], 30.0),
            (&[(0.5, 0.6), (30.0, 0.35)], 0.5),
            (&[(2.0, 0.45), (2.2, 0.5)], 2.2),
            (&[(2.0, 0.45), (2.0001, 0.5)], 2.0),
        ] {
            let found = depth(&pixel(splats)).unwrap();
            assert!((found / wanted - 1.0).abs() < 2e-3, "{splats:?}: {found}");
        }
        // haze of many depths
        let found = depth(&pixel(&[(0.5, 0.1), (1.0, 0.1), (2.0, 0.1), (8.0, 0.3), (8.4, 0.35)])).unwrap();
        assert!((found / 8.0 - 1.0).abs() < 0.12, "{found}");
        assert_eq!(super::depths(&[pixel(&[(1.0, 0.4)]), [f32::NAN; 4]]), [0.0, 0.0]);
    }
}
