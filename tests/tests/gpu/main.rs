//! Kernels and steps on a device, each against its CPU twin.

mod bands;
mod capacity;
mod deferred;
mod densify;
mod depth;
mod depth_loss;
mod foreign;
mod heal;
mod kernel_timing;
mod losses;
mod meshes;
mod model;
mod near_light;
mod neighbors;
mod plane_loss;
mod poison;
mod probe;
mod records;
mod resident;
mod sort;
mod step;
mod storage;
mod surfaces;
mod swaths;
mod training;
mod uhd;
