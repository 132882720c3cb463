//! Training cameras as the 3D filter and culling see them.

use kiln_kernels::filter_3d::FilterCamera;
use kiln_kernels::uniforms::LensWords;
use kiln_scene::Camera;
use kiln_twins::camera_cull::stretch;
use kiln_twins::gaussian::View;

/// A camera that sees what lies beyond the depth `near_z`, world units.
#[must_use]
pub fn filter_camera(camera: &Camera, near_z: f32) -> FilterCamera {
    let (r, t) = (&camera.rotation, &camera.translation);
    let [row0, row1, row2] = std::array::from_fn(|i| [r[i][0], r[i][1], r[i][2], t[i]]);
    let lens = LensWords::of(camera.lens);
    FilterCamera {
        row0,
        row1,
        row2,
        intrinsics: [camera.fx, camera.fy, camera.cx - 0.5, camera.cy - 0.5],
        size: [
            camera.width_px as f32,
            camera.height_px as f32,
            near_z,
            stretch(&View::<f32>::new(camera)),
        ],
        lens_radial: lens.radial,
        lens_sideways: lens.sideways,
        lens_range: lens.range,
    }
}
