//! Pictures of meshes, in compute: opaque, right in perspective, several samples a pixel.
//!
//! A mesh lies on the device in [chunks](Chunks) that every binding reaches. A picture is drawn in strips of rows, whose
//! samples share the arena with whatever else the caller plans, so that what drawing takes does not depend on the number of
//! samples. Promises: a picture depends on mesh, camera and number of samples alone, not on chunks, strips, subgroups or the
//! order in which threads run. Refuses: vertices that are not finite, which [`kiln_mesh::Mesh`] holds none of.

mod canvas;
mod chunks;
mod coat;
mod harmonics;
mod tensors;

pub use canvas::Canvas;
pub use chunks::{CHUNK_TRIANGLES, Chunks};
pub use coat::{Coat, Texture, TextureError};
pub use harmonics::{Harmonics, Painter};
pub use tensors::{DrawSizes, DrawTensors};
