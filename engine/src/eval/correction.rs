//! PSNR of half a view after its colours were fitted on the other half: what is left of the error when exposure and white balance do not
//! count.
//!
//! Photos of one scene may differ by what is no property of the scene, and a model whose photos have colours of their own
//! (`train.photo_colors`) has none for a photo it never saw. So a map is fitted to the left half of the very view it is measured on,
//! training views included, and the right half is scored, as evaluations of captures with changing light do (NeRF in the Wild,
//! Martin-Brualla et al. 2021). No pixel that is scored was fitted; still the figure has a name of its own and is not to be set beside
//! plain PSNR.
//!
//! `min_A sum |A (x, 1) - y|^2 + n RIDGE |A - (I, 0)|^2` over the pixels of the left half that count, x the rendering and y the photo,
//! both clamped to [0, 1]; A has three rows of four. The ridge keeps a half of one colour from having many answers.

use super::report::psnr;

/// Weight of the distance from doing nothing, a pixel.
const RIDGE: f64 = 1e-6;

/// Colours and one.
type Row = [f64; 4];

/// PSNR of one squared error over all channels of the right half of a view, after the affine map of colours that fits its left half
/// best, dB, at most 100. `photo` is 8-bit RGB, `width_px` wide, and `mask`, where there is one, 0 where a pixel does not count. `None`
/// when no pixel of a half counts or a colour is not finite.
#[must_use]
pub fn fitted_half_psnr(image: &[[f32; 4]], photo: &[u8], width_px: u32, mask: Option<&[u8]>) -> Option<f64> {
    let width = width_px.max(1) as usize;
    let pixels = |is_left: bool| {
        let counts = move |index: usize| {
            let is_there = mask.is_none_or(|mask| mask.get(index).is_some_and(|value| *value != 0));
            is_there && (index % width < width / 2) == is_left
        };
        let pairs = image.iter().zip(photo.as_chunks::<3>().0).enumerate();
        pairs.filter(move |(index, _)| counts(*index)).map(|(_, (x, y))| {
            let [r, g, b, _] = x.map(|value| f64::from(value.clamp(0.0, 1.0)));
            ([r, g, b, 1.0], y.map(|value| f64::from(value) / 255.0))
        })
    };
    let map = fitted(pixels(true))?;
    let (mut squared, mut count) = (0.0, 0_u64);
    for (x, y) in pixels(false) {
        for (row, value) in map.iter().zip(y) {
            let mapped: f64 = row.iter().zip(x).map(|(a, b)| a * b).sum();
            squared += (mapped.clamp(0.0, 1.0) - value).powi(2);
        }
        count += 1;
    }
    Some(psnr(squared / (3.0 * count as f64))).filter(|value| value.is_finite())
}

/// The affine map that fits these pairs of colours best; `None` of none.
fn fitted(pixels: impl Iterator<Item = (Row, [f64; 3])>) -> Option<[Row; 3]> {
    let (mut normal, mut sides, mut count) = ([[0.0; 4]; 4], [[0.0; 4]; 3], 0.0);
    for (x, y) in pixels {
        for (row, a) in normal.iter_mut().zip(x) {
            for (sum, b) in row.iter_mut().zip(x) {
                *sum += a * b;
            }
        }
        for (side, value) in sides.iter_mut().zip(y) {
            for (sum, a) in side.iter_mut().zip(x) {
                *sum += a * value;
            }
        }
        count += 1.0;
    }
    for (k, row) in normal.iter_mut().enumerate() {
        row[k] += RIDGE * count;
        if let Some(side) = sides.get_mut(k) {
            side[k] += RIDGE * count;
        }
    }
    let [red, green, blue] = sides.map(|side| solve(normal, side));
    Some([red?, green?, blue?])
}

/// Solution of a positive definite system by elimination; `None` when it is not one.
fn solve(mut matrix: [Row; 4], mut side: Row) -> Option<Row> {
    for k in 0..4 {
        let pivot = matrix[k][k];
        if !pivot.is_finite() || pivot <= 0.0 {
            return None;
        }
        let (row, value) = (matrix[k], side[k]);
        for below in k + 1..4 {
            let factor = matrix[below][k] / pivot;
            for (a, b) in matrix[below].iter_mut().zip(row) {
                *a -= factor * b;
            }
            side[below] -= factor * value;
        }
    }
    for k in (0..4).rev() {
        let known: f64 = (k + 1..4).map(|j| matrix[k][j] * side[j]).sum();
        side[k] = (side[k] - known) / matrix[k][k];
    }
    Some(side)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_twins::rng::uniform;

    fn rendering(n: u32) -> Vec<[f32; 4]> {
        let value = |i, c| 0.1 + 0.6 * uniform::<f32>(5, 0, i, c);
        (0..n).map(|i| [value(i, 0), value(i, 1), value(i, 2), 0.3]).collect()
    }

    fn photo(image: &[[f32; 4]], of: impl Fn([f32; 3]) -> [f32; 3]) -> Vec<u8> {
        let bytes = image
            .iter()
            .flat_map(|[r, g, b, _]| of([*r, *g, *b]))
            .map(|value| (255.0 * value).round() as u8);
        bytes.collect()
    }

    #[test]
    fn an_affine_change_of_colours_is_taken_back() {
        let image = rendering(500);
        let changed = photo(&image, |[r, g, b]| [0.8 * r + 0.1 * g, 1.2 * g + 0.05, 0.9 * b - 0.02]);
        // What rounding to 8 bits leaves.
        let found = fitted_half_psnr(&image, &changed, 20, None).unwrap();
        assert!(found > 55.0, "{found}");
        // What no map of colours can take back stays.
        let noisy: Vec<u8> = changed
            .iter()
            .zip(0..)
            .map(|(v, i)| {
                if i % 2 == 0 {
                    v.saturating_add(20)
                } else {
                    v.saturating_sub(20)
                }
            })
            .collect();
        let left = fitted_half_psnr(&image, &noisy, 20, None).unwrap();
        assert!((20.0..24.0).contains(&left), "{left}");
    }

    #[test]
    fn hidden_pixels_do_not_count_and_some_must() {
        let mut image = rendering(100);
        let same = photo(&image, |rgb| rgb);
        let mask: Vec<u8> = (0..100).map(|i| u8::from(i % 3 != 0) * 255).collect();
        for pixel in image.iter_mut().step_by(3) {
            *pixel = [1.0, 0.0, 1.0, 0.0];
        }
        assert!(fitted_half_psnr(&image, &same, 10, Some(&mask)).unwrap() > 55.0);
        assert!(fitted_half_psnr(&image, &same, 10, None).unwrap() < 30.0);
        assert_eq!(fitted_half_psnr(&image, &same, 10, Some(&[0; 100])), None);
        image[1][1] = f32::NAN;
        assert_eq!(fitted_half_psnr(&image, &same, 10, None), None);
    }

    /// What only the right half shows is not fitted away, and each half needs a pixel.
    #[test]
    fn the_half_that_is_scored_is_not_fitted() {
        let image = rendering(400);
        let mut left = photo(&image, |rgb| rgb);
        let mut right = left.clone();
        for (index, (left, right)) in left
            .as_chunks_mut::<3>()
            .0
            .iter_mut()
            .zip(right.as_chunks_mut::<3>().0)
            .enumerate()
        {
            *if index % 20 < 10 { left } else { right } = [0; 3];
        }
        let [of_left, of_right] = [left, right].map(|photo| fitted_half_psnr(&image, &photo, 20, None).unwrap());
        assert!(of_left < 10.0, "a map fitted to black: {of_left}");
        assert!(of_right < 10.0, "black that no map was fitted to: {of_right}");
        let half = |is_left: bool| -> Vec<u8> { (0..400).map(|i| u8::from((i % 20 < 10) == is_left)).collect() };
        let same = photo(&image, |rgb| rgb);
        for is_left in [true, false] {
            assert_eq!(fitted_half_psnr(&image, &same, 20, Some(&half(is_left))), None);
        }
    }

    #[test]
    fn a_view_of_one_colour_has_an_answer() {
        let image = vec![[0.25, 0.5, 0.75, 0.0]; 64];
        let found = fitted_half_psnr(&image, &[128; 192], 8, None).unwrap();
        assert!(found > 50.0, "{found}");
        assert_eq!(
            fitted_half_psnr(&[[0.0, 0.0, 0.0, 1.0]; 64], &[0; 192], 8, None),
            Some(100.0)
        );
    }
}
