//! Smoothing that keeps the size.

use crate::edges::Edges;
use crate::progress::Ticker;
use crate::vector::{V3, add, narrow, scale, sub, wide};
use crate::{Error, Mesh, Progress};

/// Settings of [`taubin`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taubin {
    /// Pairs of a step inwards and a step outwards.
    pub iterations: u32,
    /// Share of the way to the mean of the neighbours, above 0 and below 1.
    pub shrink: f64,
    /// Spatial frequency, above 0 and below 1 / shrink, up to which nothing is damped (Taubin's k_PB).
    pub pass_band: f64,
}

impl Default for Taubin {
    fn default() -> Self {
        Self {
            iterations: 10,
            shrink: 0.5,
            pass_band: 0.1,
        }
    }
}

/// Smooths positions by steps of `shrink` towards the mean of the neighbours and steps back of
/// mu = 1 / (pass band - 1 / shrink), so that volumes stay (Taubin 1995, "A signal processing approach to fair surface
/// design", eq. 12 and 13). Vertices of open or crowded edges stay where they are. Normals, where there are any, are made anew.
///
/// # Errors
/// [`Error::Setting`], [`Error::Stopped`].
pub fn taubin(mut mesh: Mesh, settings: Taubin, progress: Progress<'_>) -> Result<Mesh, Error> {
    let Taubin {
        iterations,
        shrink,
        pass_band,
    } = settings;
    if !(shrink > 0.0 && shrink < 1.0) {
        return Err(Error::setting("smoothing step", shrink, "above 0 and below 1"));
    }
    if !(pass_band > 0.0 && pass_band < 1.0 / shrink) {
        return Err(Error::setting("pass band", pass_band, "above 0 and below 1 / step"));
    }
    let grow = 1.0 / (pass_band - 1.0 / shrink);
    let edges = Edges::new(&mesh);
    let mut fixed = vec![false; mesh.positions.len()];
    let mut count = vec![0_u32; mesh.positions.len()];
    for edge in edges.iter(&mesh.triangles) {
        for vertex in [edge.low, edge.high].map(|vertex| vertex as usize) {
            count[vertex] += 1;
            fixed[vertex] |= edge.corners.len() != 2;
        }
    }
    let mut positions: Vec<V3> = mesh.positions.iter().map(|&p| wide(p)).collect();
    let mut sums = vec![[0.0; 3]; positions.len()];
    let mut ticker = Ticker::new(progress, u64::from(iterations) * 2 * positions.len() as u64);
    for step in (0..iterations).flat_map(|_| [shrink, grow]) {
        ticker.step(positions.len() as u64)?;
        sums.fill([0.0; 3]);
        for edge in edges.iter(&mesh.triangles) {
            let (low, high) = (edge.low as usize, edge.high as usize);
            sums[low] = add(sums[low], positions[high]);
            sums[high] = add(sums[high], positions[low]);
        }
        for vertex in 0..positions.len() {
            if !fixed[vertex] && count[vertex] > 0 {
                let p = positions[vertex];
                let mean = scale(sums[vertex], 1.0 / f64::from(count[vertex]));
                positions[vertex] = add(p, scale(sub(mean, p), step));
            }
        }
    }
    ticker.finish()?;
    mesh.positions = positions.into_iter().map(narrow).collect();
    Ok(match mesh.normals {
        Some(_) => mesh.with_own_normals(),
        None => mesh,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::ops::ControlFlow;

    use super::*;
    use crate::shapes;
    use crate::vector::norm;

    fn on(_: f32) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn noise_goes_and_size_stays() {
        let sphere = shapes::torus(1.0, 0.5, 120, 60);
        let noisy = shapes::jittered(&sphere, 0.01, 2);
        let settings = Taubin {
            iterations: 20,
            ..Taubin::default()
        };
        let smooth = taubin(noisy.clone(), settings, &mut on).unwrap();
        // Distance from the torus's own surface.
        let error = |mesh: &Mesh| {
            let squares = mesh.positions().iter().map(|&p| {
                let p = wide(p);
                (norm([norm([p[0], p[1], 0.0]) - 1.0, p[2], 0.0]) - 0.5).powi(2)
            });
            (squares.sum::<f64>() / mesh.positions().len() as f64).sqrt()
        };
        assert!(
            error(&smooth) < 0.4 * error(&noisy),
            "{} {}",
            error(&smooth),
            error(&noisy)
        );
        assert!((smooth.volume() / sphere.volume() - 1.0).abs() < 0.01);
    }

    #[test]
    fn borders_stay_and_settings_have_a_range() {
        let square = shapes::square(6).with_own_normals();
        let smooth = taubin(square.clone(), Taubin::default(), &mut on).unwrap();
        assert_eq!(smooth.positions()[..7], square.positions()[..7]);
        assert!(smooth.normals().is_some());
        for (shrink, pass_band) in [
            (0.0, 0.1),
            (1.0, 0.1),
            (f64::NAN, 0.1),
            (0.5, 0.0),
            (0.5, 2.0),
            (0.5, f64::NAN),
        ] {
            let settings = Taubin {
                iterations: 1,
                shrink,
                pass_band,
            };
            assert!(taubin(square.clone(), settings, &mut on).is_err(), "{settings:?}");
        }
        let stopped = taubin(square, Taubin::default(), &mut |_| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(Error::Stopped)));
        assert_eq!(
            taubin(Mesh::default(), Taubin::default(), &mut on).unwrap(),
            Mesh::default()
        );
    }
}
