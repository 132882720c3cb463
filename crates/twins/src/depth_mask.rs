//! Depths that a mask leaves out are none.

/// Takes depth and normal from the pixels whose byte in `mask` is 0; both row by row.
pub fn depth_mask(map: &mut [[f32; 4]], mask: &[u8]) {
    for (pixel, byte) in map.iter_mut().zip(mask) {
        if *byte == 0 {
            *pixel = [0.0; 4];
        }
    }
}
