//! CPU twins: each kernel's mathematics on slices, in f32 or f64, the reference the GPU is tested against.
