//! Colours of vertices from those of the samples around.

use super::samples::Cloud;
use crate::parallel;

/// Per place of the unit cube the mean colour of the samples within a cell's side, the nearer the heavier, of the finest
/// level that has any there; 0 where no level does.
pub(super) fn around(
    cloud: &Cloud,
    colors: &[[f32; 3]],
    places: &[[f32; 3]],
    depth: u32,
    threads: usize,
) -> Vec<[f32; 3]> {
    let mut found = vec![[0.0; 3]; places.len()];
    parallel::each(threads, found.iter_mut().zip(places), |(found, &place)| {
        let mut levels = (0..=depth).rev();
        *found = levels
            .find_map(|depth| mean(cloud, colors, place, depth))
            .unwrap_or_default();
    });
    found
}

fn mean(cloud: &Cloud, colors: &[[f32; 3]], place: [f32; 3], depth: u32) -> Option<[f32; 3]> {
    let on = place.map(|x| x * (1_u32 << depth) as f32);
    // The eight cells whose samples can be within a side.
    let first = on.map(|x| (x - 0.5).floor() as i32);
    let (mut weight, mut sum) = (0.0_f64, [0.0_f64; 3]);
    for corner in 0..8 {
        let offset = [corner & 1, corner >> 1 & 1, corner >> 2];
        let cell = std::array::from_fn(|i| first[i] + offset[i]);
        for index in cloud.within_cell(cell, depth) {
            let at = cloud.samples[index].on(depth);
            let near: f32 = (0..3).map(|i| (1.0 - (at[i] - on[i]).abs()).max(0.0)).product();
            let near = f64::from(near);
            weight += near;
            let color = colors[cloud.order[index] as usize];
            sum.iter_mut()
                .zip(color)
                .for_each(|(sum, x)| *sum += near * f64::from(x));
        }
    }
    (weight > 0.0).then(|| sum.map(|x| (x / weight) as f32))
}
