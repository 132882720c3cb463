//! The 3D smoothing filter (Mip-Splatting, Yu et al. 2024, sec. 4): `filter = d / f_max * sqrt(0.2)`, where `d` is the
//! Gaussian's smallest depth over the training cameras that see it and `f_max` the largest focal length.

use super::counters::Args;
use super::cpu::camera_cull::stretch;
use super::cpu::gaussian::View as CameraView;
use super::views::{Chunk, Shared};
use crate::program::{Program, Shader, View};
use crate::scene::Camera;
use crate::shader;

/// Smallest depth per Gaussian, and the largest of them.
pub static DISTANCE: Shader = shader!("filter_3d", r counters, r cameras, r geometry, w filter_3d, rw farthest);
/// Depth to standard deviation.
pub static APPLY: Shader = shader!("filter_3d_apply", r counters, rw filter_3d, r farthest);

/// A training camera as the shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct FilterCamera {
    rows: [[f32; 4]; 3],
    intrinsics: [f32; 4],
    size: [f32; 4],
}

impl FilterCamera {
    /// A camera that sees what lies beyond the depth `near_z`, world units.
    #[must_use]
    pub fn new(camera: &Camera, near_z: f32) -> Self {
        let (r, t) = (&camera.rotation, &camera.translation);
        Self {
            rows: std::array::from_fn(|i| [r[i][0], r[i][1], r[i][2], t[i]]),
            intrinsics: [camera.fx, camera.fy, camera.cx - 0.5, camera.cy - 0.5],
            size: [
                camera.width_px as f32,
                camera.height_px as f32,
                near_z,
                stretch(&CameraView::<f32>::new(camera)),
            ],
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct DistancePush {
    stride: u32,
    first: u32,
    camera_count: u32,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct ApplyPush {
    stride: u32,
    first: u32,
    scale: f32,
}

/// The training cameras on the device.
#[derive(Clone, Copy, Debug)]
pub struct FilterIo {
    /// [`FilterCamera`] array.
    pub cameras: View,
    /// How many.
    pub camera_count: u32,
    /// Largest focal length, px.
    pub max_focal_px: f32,
    /// One word.
    pub farthest: View,
}

/// Appends both passes for every chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], io: &FilterIo) {
    program.fill(io.farthest, 0);
    for chunk in chunks {
        let push = DistancePush {
            stride: chunk.stride,
            first: chunk.first,
            camera_count: io.camera_count,
        };
        let views = [
            shared.counters,
            io.cameras,
            chunk.geometry,
            chunk.filter_3d,
            io.farthest,
        ];
        program.pass(&DISTANCE, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
    for chunk in chunks {
        let push = ApplyPush {
            stride: chunk.stride,
            first: chunk.first,
            scale: 0.2f32.sqrt() / io.max_focal_px,
        };
        let views = [shared.counters, chunk.filter_3d, io.farthest];
        program.pass(&APPLY, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
