//! Meshes.

use super::{complete, golden, path, system};
use crate::eval::PictureError;
use crate::export::ExportError;
use crate::mesh::{DrawnError, MeshError};
use crate::step::NeighborsRefused;
use crate::train::TrainError;
use kiln_gpu::memory::{Budget, MemoryError};
use kiln_kernels::counters::{Counters, Stall};
use kiln_scene::SceneError;

#[test]
fn mesh() {
    let does_not_fit = |budget| MeshError::DoesNotFit {
        needed_bytes: 2 << 30,
        gaussians: 6_000_000,
        width: 1600,
        height: 1064,
        budget,
    };
    let errors = vec![
        MeshError::NoViews,
        MeshError::NoGaussians,
        MeshError::Voxels {
            voxel: 0.0001,
            side: 4.0,
            least: 4.0 / 8184.0,
        },
        MeshError::NoSurface {
            space: "bounded, [5, 5, 5] to [6, 6, 6], voxels of 0.01".to_owned(),
        },
        does_not_fit(Budget::new(8 << 30, None, Some(1 << 30))),
        does_not_fit(Budget::new(8 << 30, Some(2 << 30), None)),
        MeshError::HostMemory {
            bricks: 900_000,
            needed_bytes: 8 << 30,
            available_bytes: 5 << 30,
            fitting_voxel: 0.012_34,
        },
        MeshError::Neighbors(NeighborsRefused::Gaussians(40_000_000)),
        MeshError::Poisson(kiln_mesh::Error::Memory {
            what: "depth 11 of the reconstruction takes".to_owned(),
            needed_bytes: 9 << 30,
            most_bytes: 5 << 30,
        }),
        MeshError::Poisson(kiln_mesh::Error::Unfit {
            job: "reconstruction",
            found: "all points, 1, lie at one place".to_owned(),
            hint: "give points along a surface",
        }),
        MeshError::NotBound {
            model: path("runs/b/point_cloud/iteration_7/point_cloud.ply"),
            why: "runs/b/point_cloud/iteration_7/mesh.ply cannot be read".to_owned(),
        },
        MeshError::NothingLeft { pieces: 12, unseen: 3 },
        MeshError::Decimation {
            triangles: 40_000_000,
            needed_bytes: 5 << 30,
            available_bytes: 4 << 30,
        },
        MeshError::Stopped,
        MeshError::Train(TrainError::Stalled {
            counters: Box::new(Counters {
                stalled: 1 + Stall::Loops as u32,
                ..bytemuck::Zeroable::zeroed()
            }),
            v_cap: 500_000,
            i_cap: 3_000_000,
        }),
        MeshError::Memory(MemoryError::OverBudget {
            needed_bytes: 9 << 30,
            cap_bytes: 7 << 30,
            largest: "mesh/voxels[0] 128 MiB".to_owned(),
        }),
        MeshError::Scene(SceneError::Resolution(0)),
        MeshError::Mesh(kiln_mesh::Error::TooMany {
            what: "vertices",
            found: 5_000_000_000,
            most: 4_294_967_294,
            hint: "make voxels larger",
        }),
        MeshError::Picture(PictureError {
            what: "the depths",
            width: 8,
            height: 8,
            found: 3,
            wanted: 64,
        }),
        MeshError::Export(ExportError::new(
            &path("runs/a/mesh/report.json"),
            system(std::io::ErrorKind::PermissionDenied),
        )),
        MeshError::Model {
            path: path("triangles.ply"),
            source: kiln_triangles::Error::NoModel {
                what: "no weights".to_owned(),
            },
        },
        MeshError::Texture(DrawnError::Host(kiln_mesh::Error::TooMany {
            what: "charts",
            found: 70_000,
            most: 29_241,
            hint: "raise the texture size, or decimate the mesh",
        })),
    ];
    golden(
        "mesh",
        complete!(
            MeshError,
            errors,
            [
                NoViews,
                NoGaussians,
                Voxels,
                NoSurface,
                DoesNotFit,
                HostMemory,
                Neighbors,
                Poisson,
                NotBound,
                NothingLeft,
                Decimation,
                Stopped,
                Train,
                Memory,
                Scene,
                Mesh,
                Picture,
                Export,
                Texture,
                Model
            ]
        ),
    );
}
