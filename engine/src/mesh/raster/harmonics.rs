//! Colours of vertices that depend on where they are seen from.

use kiln_mesh::Mesh;
use kiln_triangles::Model;

use super::chunks::packed;
use super::{Chunks, DrawTensors};
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_scene::Camera;
use kiln_twins::sh::sh_basis;

/// Most threads that colour vertices.
const MOST_THREADS: usize = 16;
/// Vertices that are worth a thread.
const SHARE: usize = 1 << 12;

/// Spherical harmonics of a mesh's vertices, 192 B per vertex at degree 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Harmonics {
    degree: u32,
    sh0: Vec<[f32; 3]>,
    rest: Vec<f32>,
}

impl Harmonics {
    /// Those of a model.
    #[must_use]
    pub fn of(model: Model) -> Self {
        Self {
            degree: model.degree,
            sh0: model.sh0,
            rest: model.sh_rest,
        }
    }

    /// The colour of a vertex at `position` that is seen from `from`: `max(0, 0.5 + sum of coefficients)`; 0.5 for one that
    /// is not there.
    #[must_use]
    pub fn color(&self, vertex: usize, position: [f32; 3], from: [f32; 3]) -> [f32; 3] {
        let to: [f32; 3] = std::array::from_fn(|axis| position[axis] - from[axis]);
        let length = to.iter().map(|x| x * x).sum::<f32>().sqrt();
        let basis = sh_basis(self.degree, to.map(|x| if length > 0.0 { x / length } else { 0.0 }));
        let Some(sh0) = self.sh0.get(vertex) else {
            return [0.5; 3];
        };
        let others = (self.degree + 1).pow(2) as usize - 1;
        let rest = self.rest.get(3 * others * vertex..).unwrap_or_default();
        std::array::from_fn(|channel| {
            let own = rest.iter().skip(channel).step_by(3).take(others);
            let higher: f32 = own.zip(basis.iter().skip(1)).map(|(k, b)| k * b).sum();
            (0.5 + basis[0] * sh0[channel] + higher).max(0.0)
        })
    }
}

/// Colours a mesh on the device anew for each view.
pub struct Painter<'a> {
    mesh: &'a Mesh,
    harmonics: &'a Harmonics,
    /// The vertices of each chunk.
    orders: Vec<Vec<u32>>,
}

impl<'a> Painter<'a> {
    /// Of a mesh that is cut into `chunks`. Takes 4 B per vertex of a chunk, and 16 B while it paints.
    #[must_use]
    pub fn new(mesh: &'a Mesh, harmonics: &'a Harmonics, chunks: &Chunks) -> Self {
        let order = |chunk| chunks.order(mesh, chunk).0;
        Self {
            mesh,
            harmonics,
            orders: (0..chunks.sizes().len()).map(order).collect(),
        }
    }

    /// Gives all vertices the colours that `camera` sees.
    ///
    /// # Errors
    /// [`MemoryError`] from the device.
    pub fn paint(&self, gpu: &mut Gpu, tensors: &DrawTensors, camera: &Camera) -> Result<(), MemoryError> {
        let from = camera.position();
        for (chunk, order) in tensors.chunks.iter().zip(&self.orders) {
            gpu.write(&chunk.vertices, &self.painted(order, from))?;
        }
        Ok(())
    }

    /// These vertices as they look from a place.
    fn painted(&self, order: &[u32], from: [f32; 3]) -> Vec<[u32; 4]> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = order.len().div_ceil(threads.min(MOST_THREADS)).max(SHARE);
        let mut painted = vec![[0; 4]; order.len()];
        std::thread::scope(|scope| {
            for (order, painted) in order.chunks(share).zip(painted.chunks_mut(share)) {
                scope.spawn(move || {
                    for (&vertex, painted) in order.iter().zip(painted) {
                        let vertex = vertex as usize;
                        let position = self.mesh.positions().get(vertex).copied().unwrap_or_default();
                        *painted = packed(position, self.harmonics.color(vertex, position, from));
                    }
                });
            }
        });
        painted
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_twins::rng::uniform;

    fn model(degree: u32, vertices: u32) -> Model {
        let others = vertices * 3 * ((degree + 1).pow(2) - 1);
        let random = |id: u32, channel: u32| uniform::<f32>(3, degree, id, channel) - 0.5;
        Model {
            degree,
            positions: (0..vertices).map(|v| [0, 1, 2].map(|k| 4.0 * random(v, k))).collect(),
            weights: vec![0.0; vertices as usize],
            sh0: (0..vertices).map(|v| [3, 4, 5].map(|k| 2.0 * random(v, k))).collect(),
            sh_rest: (0..others).map(|k| random(k, 9)).collect(),
            triangles: (0..vertices / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
            floor: 0.9,
            sigma: 0.0,
        }
    }

    #[test]
    fn colors_are_the_sum_of_the_harmonics() {
        for degree in 0..4 {
            let model = model(degree, 30);
            let harmonics = Harmonics::of(model.clone());
            let from = [0.3, -7.0, 2.0];
            for (vertex, position) in model.positions.iter().enumerate() {
                let to = [0, 1, 2].map(|axis| f64::from(position[axis]) - f64::from(from[axis]));
                let length = to.iter().map(|x| x * x).sum::<f64>().sqrt();
                let basis = sh_basis(degree, to.map(|x| x / length));
                let others = (degree as usize + 1).pow(2) - 1;
                let color = harmonics.color(vertex, *position, from);
                for (channel, color) in color.into_iter().enumerate() {
                    let mut wanted = 0.5 + basis[0] * f64::from(model.sh0[vertex][channel]);
                    for k in 0..others {
                        wanted += basis[k + 1] * f64::from(model.sh_rest[3 * (vertex * others + k) + channel]);
                    }
                    assert!((f64::from(color) - wanted.max(0.0)).abs() < 1e-5);
                }
            }
        }
        let harmonics = Harmonics::of(model(1, 3));
        assert_eq!(harmonics.color(99, [0.0; 3], [1.0; 3]), [0.5; 3]);
        let here = harmonics.color(0, [1.0; 3], [1.0; 3]);
        assert!(here.iter().all(|x| x.is_finite()), "seen from its own place");
    }

    #[test]
    fn every_chunk_has_its_own_vertices() {
        let model = model(2, 9000);
        let mesh = model.mesh().unwrap();
        let harmonics = Harmonics::of(model);
        let chunks = Chunks::of(&mesh, 2000);
        let painter = Painter::new(&mesh, &harmonics, &chunks);
        let mut seen = 0;
        for order in &painter.orders {
            for (vertex, painted) in order.iter().zip(painter.painted(order, [5.0; 3])) {
                let position = mesh.positions()[*vertex as usize];
                let color = harmonics.color(*vertex as usize, position, [5.0; 3]);
                assert_eq!(painted, packed(position, color));
                seen += 1;
            }
        }
        assert_eq!((seen, painter.orders.len()), (9000, 2));
    }
}
