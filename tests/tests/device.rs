//! What needs a device and little else: kernels and programs against their CPU twins, meshes of models.

mod gpu;
mod kernels;
mod mesh;
mod meshes;
