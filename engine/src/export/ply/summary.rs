//! What a PLY file of Gaussians holds, in figures: of those Gaussians that a model of it would have.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::columns::{append, empty_model};
use super::read::OpenPly;
use super::sound::keep_last;
use super::{Notes, PlyComments, PlyError};
use kiln_gaussians::Gaussians;
use kiln_scene::math::{Real, sigmoid};

/// Gaussians whose values quantiles are taken of; of larger models every n-th one counts.
const SAMPLE: usize = 1 << 20;

/// Least, greatest and the share in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Smallest finite value.
    pub least: f32,
    /// 1 % lie below it.
    pub low: f32,
    /// Half lie below it.
    pub median: f32,
    /// 99 % lie below it.
    pub high: f32,
    /// Greatest finite value.
    pub greatest: f32,
    /// Mean of all finite values.
    pub mean: f32,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct PlySummary {
    /// Size of the file, bytes.
    pub bytes: u64,
    /// Gaussians.
    pub gaussians: u64,
    /// SH degree.
    pub sh_degree: u32,
    /// True when the file has a 3D filter beside the model.
    pub has_filter: bool,
    /// What the header says.
    pub comments: PlyComments,
    /// Positions per axis, world units.
    pub position: [Spread; 3],
    /// Opacities, 0 to 1.
    pub opacity: Spread,
    /// Geometric mean of the three standard deviations, world units.
    pub scale: Spread,
    /// Largest over smallest standard deviation.
    pub aspect: Spread,
    /// Values that are NaN or infinite, by property; properties without any are left out.
    pub not_finite: BTreeMap<String, u64>,
    /// What readers leave out, and read otherwise.
    pub notes: Notes,
}

/// Looks through a file.
///
/// # Errors
/// [`PlyError::File`], naming the file and what is wrong; values that are not finite are counted instead.
pub fn summarize_ply(path: &Path) -> Result<PlySummary, PlyError> {
    summarize(path).map_err(|problem| problem.of(path))
}

fn summarize(path: &Path) -> Result<PlySummary, PlyError> {
    let mut open = OpenPly::open(path)?;
    let (columns, mut notes) = (open.columns.clone(), std::mem::take(&mut open.notes));
    let mut one = empty_model(&columns, 1);
    let every = open.count.div_ceil(SAMPLE).max(1);
    let mut values = Values::default();
    let mut not_finite = BTreeMap::new();
    open.rows(|vertex, row| {
        for column in columns.all() {
            if !column.read(row).is_finite() {
                *not_finite.entry(column.name.clone()).or_insert(0) += 1;
            }
        }
        one.truncate(0);
        append(&columns, row, &mut one);
        if keep_last(&mut one, vertex as u64, &mut notes) {
            values.add(&one, vertex.is_multiple_of(every));
        }
    })?;
    open.at_end(&mut notes)?;
    Ok(PlySummary {
        bytes: open.size,
        gaussians: open.count as u64,
        sh_degree: columns.degree(),
        has_filter: columns.has_filter(),
        comments: open.comments,
        position: values.position.map(Collected::spread),
        opacity: values.opacity.spread(),
        scale: values.scale.spread(),
        aspect: values.aspect.spread(),
        not_finite,
        notes,
    })
}

#[derive(Default)]
struct Values {
    position: [Collected; 3],
    opacity: Collected,
    scale: Collected,
    aspect: Collected,
}

impl Values {
    /// Takes the Gaussians of `one`.
    fn add(&mut self, one: &Gaussians, sampled: bool) {
        for mean in &one.means {
            let axes = self.position.iter_mut().zip(mean);
            axes.for_each(|(collected, value)| collected.add(*value, sampled));
        }
        for logit in &one.logit_opacities {
            self.opacity.add(sigmoid(*logit), sampled);
        }
        for [a, b, c] in &one.log_scales {
            self.scale.add(Real::exp((a + b + c) / 3.0), sampled);
            self.aspect
                .add(Real::exp(a.max(*b).max(*c) - a.min(*b).min(*c)), sampled);
        }
    }
}

/// Finite values of one quantity: exact ends, and a sample for what lies between.
#[derive(Default)]
struct Collected {
    ends: Option<[f32; 2]>,
    sum: f64,
    count: u64,
    sample: Vec<f32>,
}

impl Collected {
    fn add(&mut self, value: f32, sampled: bool) {
        if !value.is_finite() {
            return;
        }
        let [least, greatest] = self.ends.unwrap_or([value; 2]);
        self.ends = Some([least.min(value), greatest.max(value)]);
        self.sum += f64::from(value);
        self.count += 1;
        if sampled {
            self.sample.push(value);
        }
    }

    fn spread(mut self) -> Spread {
        let Some([least, greatest]) = self.ends else {
            return Spread::default();
        };
        self.sample.sort_unstable_by(f32::total_cmp);
        let last = self.sample.len().saturating_sub(1);
        let at = |percent: usize| self.sample.get(last * percent / 100).copied().unwrap_or(least);
        Spread {
            least,
            low: at(1),
            median: at(50),
            high: at(99),
            greatest,
            mean: (self.sum / self.count.max(1) as f64) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::export::{PlyFlavor, RenderMode, read_ply, write_ply};
    use kiln_gaussians::Gaussians;
    use kiln_scratch::Scratch;

    fn model(n: usize) -> Gaussians {
        Gaussians {
            sh_degree: 1,
            means: (0..n).map(|i| [i as f32, -1.0, 2.0]).collect(),
            quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
            log_scales: vec![[0.0, 0.0, (2.0_f32).ln()]; n],
            logit_opacities: vec![0.0; n],
            sh0: vec![[0.5; 3]; n],
            sh_rest: vec![0.0; n * 9],
            filter_3d: vec![0.0; n],
        }
    }

    #[test]
    fn figures_of_a_model() {
        let scratch = Scratch::new();
        let path = scratch.path().join("a.ply");
        let comments = PlyComments {
            render_mode: Some(RenderMode::Mip),
            kernel_size: Some(0.1),
            iteration: Some(7),
            origin: None,
        };
        write_ply(&path, &model(101), PlyFlavor::Raw, comments).unwrap();
        let found = summarize_ply(&path).unwrap();
        assert_eq!((found.gaussians, found.sh_degree, found.has_filter), (101, 1, true));
        assert_eq!(found.comments, comments);
        let x = Spread {
            least: 0.0,
            low: 1.0,
            median: 50.0,
            high: 99.0,
            greatest: 100.0,
            mean: 50.0,
        };
        assert_eq!(found.position[0], x);
        assert_eq!((found.opacity.least, found.opacity.greatest), (0.5, 0.5));
        assert!((found.scale.median - 2.0_f32.cbrt()).abs() < 1e-6 && (found.aspect.median - 2.0).abs() < 1e-6);
        assert!(found.not_finite.is_empty());
    }

    #[test]
    fn values_that_are_not_finite_are_counted() {
        let scratch = Scratch::new();
        let path = scratch.path().join("a.ply");
        let mut odd = model(4);
        odd.means[1][2] = f32::NAN;
        odd.means[2][2] = f32::INFINITY;
        odd.logit_opacities[3] = f32::NAN;
        write_ply(&path, &odd, PlyFlavor::Raw, PlyComments::default()).unwrap();
        assert_eq!(read_ply(&path).unwrap().0.len(), 1);
        let found = summarize_ply(&path).unwrap();
        let counts: Vec<_> = found.not_finite.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(counts, [("opacity", 1), ("z", 2)]);
        assert_eq!((found.gaussians, found.notes.left_out), (4, 3));
        assert_eq!((found.position[2].greatest, found.position[0].greatest), (2.0, 0.0));
        assert!(summarize_ply(&scratch.path().join("none.ply")).is_err());
        write_ply(&path, &model(0), PlyFlavor::Raw, PlyComments::default()).unwrap();
        assert_eq!(summarize_ply(&path).unwrap().opacity, Spread::default());
    }
}
