//! Gaussians on the triangles of a mesh in a file: the first model of a refinement, and whether there is room for it.

use std::io::BufReader;
use std::path::Path;

use kiln_files::{open_filled, read_opened};
use kiln_mesh::{Mesh, clean, glb, obj, ply, weld};

use super::BoundError;
use kiln_config::Profile;
use kiln_config::plugins::MeshOptions;
use kiln_gaussians::Gaussians;
use kiln_gaussians::bound::{Binding, BoundMesh, THICKNESS, place, radius};
use kiln_gaussians::init::SH_C0;
use kiln_gaussians::layout::sh_coefficients;
use kiln_gpu::memory::PlanLimits;
use kiln_scene::math::{Real, Vec3, logit, norm, sub};
use kiln_twins::bound::bind;

/// Colour of vertices that have none.
const GREY: Vec3<f32> = [0.5; 3];

/// A mesh with the Gaussians on it.
pub(super) struct Bound {
    pub(super) gaussians: Gaussians,
    pub(super) mesh: BoundMesh,
    pub(super) binding: Binding,
    /// What was left out of the file, for people.
    pub(super) left_out: Option<String>,
}

/// Reads the mesh, relative to `origin`, and puts Gaussians on its triangles.
///
/// Vertices at one place become one, and triangles with two equal vertices or those of another one go, because nothing could
/// be learned on them.
///
/// # Errors
/// [`BoundError`] when the file holds no mesh.
pub(super) fn read(
    options: &MeshOptions,
    profile: &Profile,
    extent: f32,
    origin: [f64; 3],
) -> Result<Bound, BoundError> {
    let path = Path::new(&options.path);
    let file = file(path, origin)?;
    let before = [file.positions().len(), file.triangles().len()];
    let (mesh, _) = clean::faces(weld::equal(file));
    let (mesh, _) = clean::unreferenced(mesh);
    if mesh.triangles().is_empty() {
        return Err(BoundError::NoFaces {
            path: path.to_owned(),
            vertices: before[0],
        });
    }
    let after = [mesh.positions().len(), mesh.triangles().len()];
    let left_out = (before != after).then(|| {
        format!(
            "of {} vertices and {} triangles in {} {} and {} are left: doubles, and triangles without an area, are not trained",
            before[0],
            before[1],
            path.display(),
            after[0],
            after[1]
        )
    });
    let bound = BoundMesh::new(&mesh);
    let binding = Binding::new(&bound, profile.bound().per_triangle, profile.bound().normal_consistency);
    let gaussians = gaussians(&mesh, &bound, options, profile, extent);
    Ok(Bound {
        gaussians,
        mesh: bound,
        binding,
        left_out,
    })
}

/// Holds a mesh against what the profile allows, and its tensors against what passes can bind.
///
/// # Errors
/// [`BoundError::TooManyGaussians`], [`BoundError::TooLarge`].
pub(super) fn check(binding: &Binding, profile: &Profile, limits: PlanLimits) -> Result<(), BoundError> {
    let Binding {
        triangles,
        per_triangle,
        ..
    } = *binding;
    let most = profile.memory.max_gaussians.number();
    if u64::from(triangles) * u64::from(per_triangle) > most.into() {
        return Err(BoundError::TooManyGaussians {
            triangles,
            per_triangle,
            most,
        });
    }
    let most = limits.largest_tensor();
    if binding.largest_tensor() > most {
        return Err(BoundError::TooLarge {
            triangles,
            vertices: binding.vertices,
            most: most / 12,
        });
    }
    Ok(())
}

/// The mesh of a file, relative to `origin`; the ending of its name says how it is stored.
fn file(path: &Path, origin: [f64; 3]) -> Result<Mesh, BoundError> {
    let read = |source| BoundError::Read {
        path: path.to_owned(),
        source,
    };
    let damaged = |source| BoundError::File {
        path: path.to_owned(),
        source,
    };
    let open = || {
        open_filled(path)
            .map(|file| BufReader::with_capacity(1 << 18, file))
            .map_err(read)
    };
    let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("ply") => ply::read_from(open()?, origin).map_err(damaged),
        Some("obj") => obj::read_from(open()?, origin).map_err(damaged),
        Some("glb") => {
            let bytes = open_filled(path).and_then(|file| read_opened(file, u32::MAX.into()));
            let bytes = bytes.map_err(read)?;
            glb::read_from(&bytes, origin).map(|file| file.mesh).map_err(damaged)
        }
        _ => Err(BoundError::Ending { path: path.to_owned() }),
    }
}

/// Gaussians on the triangles of a mesh, in the order of these.
fn gaussians(mesh: &Mesh, bound: &BoundMesh, options: &MeshOptions, profile: &Profile, extent: f32) -> Gaussians {
    let (per_triangle, degree) = (profile.bound().per_triangle, profile.model.sh_degree);
    let colors = mesh.colors();
    let thickness = THICKNESS * extent;
    let opacity = logit(options.opacity);
    #[expect(clippy::cast_possible_truncation, reason = "constants of init")]
    let (share, to_sh) = (radius(per_triangle) as f32, (1.0 / SH_C0) as f32);
    let mut model = Gaussians {
        sh_degree: degree,
        ..Gaussians::default()
    };
    for &triangle in &bound.triangles {
        let corners = bound.corners(triangle);
        let [a, b, c] = corners;
        let shortest = [sub(a, b), sub(b, c), sub(c, a)]
            .map(norm)
            .into_iter()
            .fold(f32::INFINITY, f32::min);
        let size = (share * shortest).max(thickness);
        let of_vertex = |vertex: u32| {
            colors
                .and_then(|colors| colors.get(vertex as usize))
                .copied()
                .unwrap_or(GREY)
        };
        for slot in 0..per_triangle {
            let at = place::<f32>(per_triangle, slot);
            let (mean, quat) = bind(corners, at, [1.0, 0.0]);
            let color: Vec3<f32> =
                std::array::from_fn(|channel| (0..3).map(|k| at[k] * of_vertex(triangle[k])[channel]).sum());
            model.means.push(mean);
            model.quats.push(quat);
            model.log_scales.push([thickness, size, size].map(Real::ln));
            model.logit_opacities.push(opacity);
            model.sh0.push(color.map(|value| (value - 0.5) * to_sh));
        }
    }
    let count = model.len();
    model.sh_rest = vec![0.0; 3 * (sh_coefficients(degree) - 1) * count];
    model.filter_3d = vec![0.0; count];
    model
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};
    use kiln_gaussians::bound::PER_TRIANGLE;
    use kiln_scene::math::rotation;
    use kiln_scratch::Scratch;

    fn profile(settings: &[(&str, &str)]) -> Profile {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        resolve(&Inputs {
            recipe: Some("bound".to_owned()),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
        .unwrap()
    }

    /// Two triangles of a square of side 2 in the plane z = 1, one more in one place, and one with two equal corners.
    fn square() -> Mesh {
        let corners = vec![
            [0.0, 0.0, 1.0],
            [2.0, 0.0, 1.0],
            [0.0, 2.0, 1.0],
            [2.0, 2.0, 1.0],
            [9.0; 3],
        ];
        let colors = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0; 3], [0.0; 3]];
        let triangles = vec![[0, 1, 2], [3, 2, 1], [1, 2, 0], [3, 3, 1]];
        Mesh::new(corners, triangles).unwrap().with_colors(colors).unwrap()
    }

    fn written(scratch: &Scratch, mesh: &Mesh) -> MeshOptions {
        let mut bytes = Vec::new();
        ply::write(mesh, &[], &mut bytes).unwrap();
        scratch.write("mesh.PLY", bytes);
        MeshOptions {
            path: scratch.path().join("mesh.PLY").display().to_string(),
            ..MeshOptions::default()
        }
    }

    #[test]
    fn gaussians_lie_flat_in_their_triangles_with_the_colours_there() {
        let scratch = Scratch::new();
        let options = written(&scratch, &square());
        for per_triangle in PER_TRIANGLE {
            let profile = profile(&[
                ("bound.per_triangle", &per_triangle.to_string()),
                ("model.sh_degree", "1"),
            ]);
            let Bound {
                gaussians,
                mesh,
                binding,
                left_out,
            } = read(&options, &profile, 5.0, [0.0; 3]).unwrap();
            assert_eq!(
                (mesh.vertices.len(), mesh.triangles.len(), binding.inner_edges),
                (4, 2, 1)
            );
            assert!(left_out.unwrap().contains("of 5 vertices and 4 triangles"));
            assert_eq!(gaussians.len(), binding.gaussians() as usize);
            assert_eq!(gaussians.sh_rest.len(), 9 * gaussians.len());
            let size = 2.0 * radius(per_triangle) as f32;
            for i in 0..gaussians.len() {
                let [x, y, z] = gaussians.means[i];
                assert!(z == 1.0 && x > 0.0 && y > 0.0 && (x + y < 2.0) == (i < per_triangle as usize));
                let [thin, a, b] = gaussians.log_scales[i].map(f32::exp);
                assert!((thin / 5e-6 - 1.0).abs() < 1e-4 && (a / size - 1.0).abs() < 1e-5 && a == b);
                let axes = rotation(gaussians.quats[i]);
                assert!(
                    (axes[2][0].abs() - 1.0).abs() < 1e-6,
                    "the first axis is the normal: {axes:?}"
                );
                if i < per_triangle as usize {
                    // Red at the origin, green along x, blue along y.
                    let [r, g, b] = gaussians.sh0[i].map(|v| v * SH_C0 as f32 + 0.5);
                    assert!(
                        (r - (1.0 - 0.5 * (x + y))).abs() < 1e-5
                            && (g - 0.5 * x).abs() < 1e-5
                            && (b - 0.5 * y).abs() < 1e-5
                    );
                }
                assert!((gaussians.logit_opacities[i] + 2.197_224_6).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn files_without_a_mesh_and_meshes_without_room_are_refused() {
        let scratch = Scratch::new();
        let options = written(&scratch, &square());
        let said =
            |options: &MeshOptions, settings: &[(&str, &str)]| match read(options, &profile(settings), 1.0, [0.0; 3]) {
                Err(error) => error.to_string(),
                Ok(_) => String::new(),
            };
        let mut elsewhere = options.clone();
        elsewhere.path.push_str(".stl");
        assert!(said(&elsewhere, &[]).contains("no mesh file by its name"));
        elsewhere.path = scratch.path().join("none.ply").display().to_string();
        assert!(said(&elsewhere, &[]).contains("cannot be read"));
        let points = written(&scratch, &Mesh::new(vec![[0.0; 3]; 3], vec![]).unwrap());
        assert!(said(&points, &[]).contains("no triangle"));
        let binding = Binding::new(&BoundMesh::new(&square()), 6, 0.1);
        let limits = |binding_bytes| PlanLimits {
            block_bytes: 1 << 20,
            binding_bytes,
            rounding: kiln_gpu::memory::BlockRounding::NONE,
        };
        let held = |most: &str, bytes| {
            let held = check(&binding, &profile(&[("memory.max_gaussians", most)]), limits(bytes));
            held.map_err(|error| error.to_string())
        };
        assert_eq!(held("24", 60), Ok(()));
        let few = held("23", 60).unwrap_err();
        assert!(
            few.contains("4 triangles with 6 Gaussians each") && few.contains("max_gaussians"),
            "{few}"
        );
        let error = held("24", 48).unwrap_err();
        assert!(error.contains("at most 4 of either"), "{error}");
    }
}
