//! What of each photo a block answers for, as masks: white where the ground behind a pixel lies in the block or its margin.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use image::GrayImage;
use kiln_blocks::{Ground, Heights, Rect};

use super::ProjectError;
use crate::export::ExportError;
use kiln_scene::{SceneIndex, View, read_mask};

/// Pixels of a mask's longer side at most.
const LONGER_PX: u32 = 512;
/// Least sides of a photo's pixels that a mask's pixel has.
const LEAST_STEP: u32 = 4;
/// Rays through a mask's pixel, each way.
const RAYS: f64 = 2.0;
/// Where masks of a block are.
pub(super) const FOLDER: &str = "masks";

/// A block that wants masks: its folder, what it trains, and its views by name.
pub(super) struct Wanted<'a> {
    pub(super) folder: &'a Path,
    pub(super) wide: Rect,
    pub(super) views: BTreeMap<&'a str, ()>,
}

/// Writes the masks of all blocks, photo by photo; gives the names of those of each, relative to its folder.
///
/// # Errors
/// [`ProjectError`] when a mask of the scene cannot be read or one of a block not be written.
pub(super) fn write(
    scene: &SceneIndex,
    ground: &Ground,
    heights: &Heights,
    blocks: &[Wanted<'_>],
) -> Result<Vec<Vec<String>>, ProjectError> {
    let mut names = vec![Vec::new(); blocks.len()];
    for (_, view) in scene.views() {
        let mut of_view = blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| block.views.contains_key(&*view.name));
        let Some(first) = of_view.next() else { continue };
        let size = mask_px(view.stored_px());
        let hits = hits(view, size, ground, heights);
        let own = own_mask(view, size)?;
        for (number, block) in std::iter::once(first).chain(of_view) {
            let name = format!("{FOLDER}/{}.png", view.name);
            let mask = mask(&hits, size, &block.wide, own.as_deref());
            save(&mask, &block.folder.join(&name))?;
            names[number].push(name);
        }
    }
    Ok(names)
}

/// Width and height of the mask of a picture of that size.
fn mask_px((width, height): (u32, u32)) -> (u32, u32) {
    let step = width.max(height).div_ceil(LONGER_PX).max(LEAST_STEP);
    ((width / step).max(1), (height / step).max(1))
}

/// A pixel of the mask, and where a ray through it meets the ground.
type Hit = (u32, [f64; 2]);

fn hits(view: &View, (width, height): (u32, u32), ground: &Ground, heights: &Heights) -> Vec<Hit> {
    let (stored_width, stored_height) = view.stored_px();
    let scale = [
        f64::from(width) / f64::from(stored_width),
        f64::from(height) / f64::from(stored_height),
    ];
    let step = 1.0 / (scale[0].max(scale[1]) * RAYS);
    let camera = view.camera.position().map(f64::from);
    let (place, above) = (ground.flat(camera), ground.height(camera));
    let lens = &view.intrinsics;
    let rotation = view.camera.rotation.map(|row| row.map(f64::from));
    let counts = |side: u32| (f64::from(side) / step).ceil() as u32;
    let mut found = Vec::new();
    for row in 0..counts(view.source_height) {
        for column in 0..counts(view.source_width) {
            let (x, y) = ((f64::from(column) + 0.5) * step, (f64::from(row) + 0.5) * step);
            let stored = view.stored_place([x, y]);
            let pixel = [0, 1].map(|axis| (stored[axis] * scale[axis]).floor());
            let inside =
                pixel[0] >= 0.0 && pixel[1] >= 0.0 && pixel[0] < f64::from(width) && pixel[1] < f64::from(height);
            if !inside {
                continue;
            }
            let off = [(x - lens.cx) / lens.fx, (y - lens.cy) / lens.fy];
            let ray = match &view.camera.lens {
                None => [off[0], off[1], 1.0],
                Some(fisheye) => match fisheye.ray(off) {
                    Some(ray) => ray,
                    None => continue,
                },
            };
            // To the world: the rotation's rows are the camera's axes.
            let ray: [f64; 3] = std::array::from_fn(|i| (0..3).map(|axis| rotation[axis][i] * ray[axis]).sum());
            let hit = heights.hit(place, above, ground.flat(ray), ground.height(ray));
            found.push((pixel[1] as u32 * width + pixel[0] as u32, hit));
        }
    }
    found
}

/// White where at least half of a pixel's rays meet ground in `wide`, and where no ray says anything; black where the photo's
/// own mask is.
fn mask(hits: &[Hit], (width, height): (u32, u32), wide: &Rect, own: Option<&[bool]>) -> GrayImage {
    let mut counts = vec![[0_u32; 2]; (width * height) as usize];
    for (pixel, hit) in hits {
        let [all, inside] = &mut counts[*pixel as usize];
        *all += 1;
        *inside += u32::from(wide.contains(*hit));
    }
    let mut picture = GrayImage::new(width, height);
    for (at, (pixel, [all, inside])) in picture.iter_mut().zip(counts).enumerate() {
        let counts = own.is_none_or(|own| own[at]);
        *pixel = if 2 * inside >= all && counts { u8::MAX } else { 0 };
    }
    picture
}

/// The photo's own mask at that size, true where it counts; none for a photo without one.
fn own_mask(view: &View, (width, height): (u32, u32)) -> Result<Option<Vec<bool>>, ProjectError> {
    let Some(mask) = &view.mask else { return Ok(None) };
    // As runs read it: one that is too large for its bytes is refused, and what is transparent does not count.
    let values = read_mask(mask).map_err(|e| ProjectError::Unreadable {
        path: mask.path.clone(),
        reason: e.to_string(),
    })?;
    let (mask_width, mask_height) = mask.size_px;
    let along = |at: u32, side: u32, of: u32| (u64::from(at) * 2 + 1) * u64::from(of) / (u64::from(side) * 2);
    let counts = |y: u32, x: u32| {
        let place = along(y, height, mask_height) * u64::from(mask_width) + along(x, width, mask_width);
        values.get(place as usize).is_some_and(|value| *value > 0)
    };
    Ok(Some(
        (0..height)
            .flat_map(|y| (0..width).map(move |x| (y, x)))
            .map(|(y, x)| counts(y, x))
            .collect(),
    ))
}

fn save(mask: &GrayImage, path: &Path) -> Result<(), ProjectError> {
    let mut bytes = Vec::new();
    let encoded = mask.write_to(&mut io::Cursor::new(&mut bytes), image::ImageFormat::Png);
    let written = encoded.map_err(io::Error::other).and_then(|()| {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::File::create_new(path)?.write_all(&bytes)
    });
    Ok(written.map_err(|e| ExportError::new(path, e))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_keep_the_shape_of_photos() {
        assert_eq!(mask_px((1200, 900)), (300, 225));
        assert_eq!(mask_px((5472, 3648)), (497, 331));
        assert_eq!(mask_px((3, 2)), (1, 1));
    }

    #[test]
    fn pixels_count_by_most_of_their_rays() {
        let wide = Rect {
            min: [0.0; 2],
            max: [1.0; 2],
        };
        let (inside, outside) = ([0.5, 0.5], [2.0, 0.5]);
        let hits = [(0, inside), (0, outside), (1, outside), (2, inside), (2, inside)];
        let found = mask(&hits, (2, 2), &wide, None);
        assert_eq!(found.into_raw(), [255, 0, 255, 255], "nothing is known of the last");
        let own = [true, true, false, true];
        assert_eq!(mask(&hits, (2, 2), &wide, Some(&own)).into_raw(), [255, 0, 0, 255]);
    }
}
