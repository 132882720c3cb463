//! What photo colours begin with and are held to: by how much a photo is brighter than those taken around it.
//!
//! What photos share with their neighbours stays in the model, because views that are looked at later lie among the same neighbours; what
//! sets a photo apart from them is its own exposure. Where photos are far apart, all of it is. Photos that were not measured are known by the exposure in their files, if what those
//! say agrees with what was measured.

use kiln_scene::{Camera, Exposures, SceneIndex};

/// Photos around one that it is compared with.
const AROUND: usize = 4;
/// Fewest photos by which exposures in files are judged, and least correlation with what was measured.
const LEAST_PHOTOS: usize = 8;
const LEAST_CORRELATION: f64 = 0.7;
/// Stored colours go with the light to the power of one over this.
const GAMMA: f64 = 2.2;
/// Spreads of exposures between which photos keep all, and none, of what they share with their neighbours: where photos are as far apart as
/// in the captures of docs/notebook/quality.md they keep it, and where they are stops apart the mean of all is as good as any.
const SHARED: [f64; 2] = [0.13, 0.26];
/// Largest size of a gain's logarithm.
const MOST: f64 = 1.4;

/// Logarithms of the gains of red, green and blue.
type Logs = [f64; 3];

/// Gives the training views of `scene` their gains, and says for people where they are from; `None` where they have none.
pub(super) fn set(scene: &mut SceneIndex, found: &Exposures) -> Option<String> {
    let mut known: Vec<Option<Logs>> = vec![None; scene.train.len()];
    for photo in &found.photos {
        if let Some(known) = known.get_mut(photo.view) {
            *known = Some(photo.log_gains);
        }
    }
    let stops: Vec<Option<f64>> = scene
        .train
        .iter()
        .map(|view| view.milli_stops.map(|milli| f64::from(milli) / 1000.0))
        .collect();
    let from_files = of_files(&stops, &known);
    let mut parts = vec![format!("{} photos begin with what was measured", found.photos.len())];
    if let Some((correlation, logs)) = from_files {
        let agrees = correlation >= LEAST_CORRELATION;
        parts.push(match agrees {
            true => format!("exposures in the files agree with it (correlation {correlation:.2})"),
            false => format!("exposures in the files disagree with it and are left out (correlation {correlation:.2})"),
        });
        for (known, log) in known.iter_mut().zip(logs).filter(|_| agrees) {
            *known = known.or(log.map(|log| [log; 3]));
        }
    }
    let cameras: Vec<&Camera> = scene.train.iter().map(|view| &view.camera).collect();
    let [all, none] = SHARED;
    let whole = ((found.brightness.spread - all) / (none - all)).clamp(0.0, 1.0);
    let own = apart(&cameras, scene.extent, &known);
    let own: Vec<Logs> = own
        .iter()
        .zip(&known)
        .map(|(own, known)| {
            let known = known.unwrap_or(*own);
            std::array::from_fn(|c| (own[c] + whole * (known[c] - own[c])).clamp(-MOST, MOST))
        })
        .collect();
    let count = own.len().max(1) as f64;
    let means: [f64; 3] = std::array::from_fn(|c| own.iter().map(|logs| logs[c].exp()).sum::<f64>() / count);
    for (view, logs) in scene.train.iter_mut().zip(&own) {
        #[expect(clippy::cast_possible_truncation, reason = "factors about 1")]
        let gains = std::array::from_fn(|c| (logs[c].exp() / means[c]) as f32);
        view.gains = gains;
    }
    found.photos.first().map(|_| parts.join("; "))
}

/// Correlation of the light in the photos' files with what is known of their exposure, and the logarithms of gains that the files ask for;
/// `None` where too few photos say both.
fn of_files(stops: &[Option<f64>], known: &[Option<Logs>]) -> Option<(f64, Vec<Option<f64>>)> {
    let both = stops.iter().zip(known);
    let pairs: Vec<(f64, f64)> = both
        .filter_map(|(stops, known)| Some(((*stops)?, known.as_ref()?.iter().sum::<f64>() / 3.0)))
        .collect();
    if pairs.len() < LEAST_PHOTOS {
        return None;
    }
    let count = pairs.len() as f64;
    let (x, y) = (
        pairs.iter().map(|(x, _)| x).sum::<f64>() / count,
        pairs.iter().map(|(_, y)| y).sum::<f64>() / count,
    );
    let product = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (xx, yy) = (product(&|(a, _)| (a - x).powi(2)), product(&|(_, b)| (b - y).powi(2)));
    let xy = product(&|(a, b)| (a - x) * (b - y));
    // Equal exposures say nothing.
    let correlation = if xx > 0.0 && yy > 0.0 {
        xy / (xx * yy).sqrt()
    } else {
        0.0
    };
    let mut sorted: Vec<f64> = stops.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied()?;
    let log = |stops: f64| (stops - median) * std::f64::consts::LN_2 / GAMMA;
    Some((correlation, stops.iter().map(|stops| stops.map(log)).collect()))
}

/// What is known of each photo less the mean of the nearest that are known; 0 where that says nothing.
fn apart(cameras: &[&Camera], extent: f32, known: &[Option<Logs>]) -> Vec<Logs> {
    let extent = f64::from(extent).max(1e-12);
    let place = |camera: &Camera| (camera.position().map(f64::from), camera.rotation[2].map(f64::from));
    let places: Vec<_> = cameras.iter().map(|camera| place(camera)).collect();
    let others: Vec<usize> = (0..known.len()).filter(|at| known[*at].is_some()).collect();
    let of_one = |at: usize| {
        let own = known[at]?;
        let far = |other: &usize| {
            let ((p, d), (q, e)) = (&places[at], &places[*other]);
            let squared: f64 = (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum();
            let turned: f64 = 1.0 - (0..3).map(|axis| d[axis] * e[axis]).sum::<f64>();
            squared.sqrt() / extent + turned
        };
        let mut around: Vec<(f64, usize)> = others
            .iter()
            .filter(|other| **other != at)
            .map(|other| (far(other), *other))
            .collect();
        if around.len() < AROUND {
            return None;
        }
        around.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let near = || around.iter().take(AROUND).filter_map(|(_, other)| known[*other]);
        let mean = |c: usize| near().map(|logs| logs[c]).sum::<f64>() / AROUND as f64;
        Some(std::array::from_fn(|c| (own[c] - mean(c)).clamp(-MOST, MOST)))
    };
    (0..known.len()).map(|at| of_one(at).unwrap_or([0.0; 3])).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Along a line.
    fn cameras(count: u32) -> Vec<Camera> {
        let camera = |at: u32| Camera {
            width_px: 8,
            height_px: 8,
            fx: 8.0,
            fy: 8.0,
            cx: 4.0,
            cy: 4.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [-(at as f32), 0.0, 0.0],
            lens: None,
        };
        (0..count).map(camera).collect()
    }

    #[test]
    fn what_neighbours_share_is_no_photos_own() {
        let cameras = cameras(40);
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let smooth: Vec<Option<Logs>> = (0..40).map(|k| Some([0.02 * f64::from(k); 3])).collect();
        let own = apart(&cameras, 20.0, &smooth);
        assert!(own[2..38].iter().all(|logs| logs[0].abs() < 1e-9), "{own:?}");
        let mut jumps = smooth;
        jumps[10] = Some([0.7, 0.2, 0.2]);
        jumps[30] = None;
        let own = apart(&cameras, 20.0, &jumps);
        assert!(
            (own[10][0] - 0.5).abs() < 1e-9 && own[10][1].abs() < 1e-9,
            "{:?}",
            own[10]
        );
        assert_eq!(own[30], [0.0; 3], "nothing is known of it");
        assert_eq!(apart(&cameras[..3], 20.0, &jumps[..3]), [[0.0; 3]; 3], "too few around");
    }

    #[test]
    fn files_that_lie_are_seen() {
        let known: Vec<Option<Logs>> = (0..20).map(|k| Some([0.1 * f64::from(k % 5); 3])).collect();
        let of = |stops: &dyn Fn(u32) -> f64| {
            let stops: Vec<Option<f64>> = (0..20).map(|k| Some(stops(k))).collect();
            of_files(&stops, &known).unwrap()
        };
        let (honest, logs) = of(&|k| -8.0 + 0.1 * f64::from(k % 5) * GAMMA / std::f64::consts::LN_2);
        assert!(honest > 0.99);
        assert!((logs[4].unwrap() - logs[0].unwrap() - 0.4).abs() < 1e-9);
        assert!(of(&|k| -f64::from(k % 5)).0 < -0.9);
        assert!(of(&|k| f64::from(k * 7 % 11)).0.abs() < LEAST_CORRELATION);
        assert_eq!(of(&|_| 3.0).0, 0.0, "equal exposures say nothing");
        let few = vec![Some(1.0); 5];
        assert_eq!(of_files(&few, &known[..5]), None);
    }
}
