//! The depth map of a view, as the device reads it.

use super::fit::DepthFit;
use crate::SceneError;
use crate::maps::{MapFile, MapKind, Over, numbers};

/// Steps of inverse depth in the unit of a photo.
pub(super) const STEPS: f64 = 4096.0;

/// The depth map of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthMap {
    /// Its files.
    pub map: MapFile,
    /// What its values mean.
    pub fit: DepthFit,
}

impl DepthMap {
    /// A word for each pixel of a photo at training resolution, see [`word`].
    pub(crate) fn words(&self, over: &Over<'_>) -> Result<Vec<u32>, SceneError> {
        let file = &self.map.file;
        let values = over.lay(numbers(MapKind::Depth, &file.path, file.size_px)?.values, file.size_px);
        let trust = self.map.trust(over)?;
        let trust_of = |at: usize| trust.as_ref().map_or(u8::MAX, |trust| trust[at]);
        let words = values.iter().enumerate().map(|(at, value)| match *value {
            0.0 => 0,
            value => self
                .fit
                .inverse_depth(value)
                .map_or(0, |inverse| word(inverse / self.fit.unit, trust_of(at))),
        });
        Ok(words.collect())
    }
}

/// What the device reads of a pixel: inverse depth in the photo's unit, in 1/4096 in the low 16 bits, and above it how far it is
/// trusted, 0 to 255; 0 for nothing, which is also what becomes of depths that 16 bits cannot hold.
fn word(inverse: f64, trust: u8) -> u32 {
    let steps = (inverse * STEPS).round();
    if steps >= 1.0 && steps <= f64::from(u16::MAX) {
        u32::from(trust) << 16 | steps as u32
    } else {
        0
    }
}
