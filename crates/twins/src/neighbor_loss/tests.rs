use super::super::scenes::camera;
use super::super::surface::depth_map;
use super::super::surface::differences::follow_differences;
use super::*;
use kiln_kernels::plane_loss::PLANES;
use kiln_scene::math::{norm, rotation};

const WEIGHTS: PairWeights = PairWeights {
    geometry: 0.3,
    photometric: 0.7,
};
/// The plane that both views look at, in the camera space of the trained one: normal and distance.
const PLANE: ([f64; 3], f64) = ([0.2, -0.1, -0.974], 3.9);

fn view(size_px: [u32; 2]) -> View<f64> {
    let size = size_px.map(f64::from);
    View {
        size_px,
        focal: [1.3 * size[0], 1.2 * size[0]],
        centre: [0.45 * size[0], 0.55 * size[1]],
        rotation: rotation([1.0, 0.0, 0.0, 0.0]),
        translation: [0.0; 3],
        ..View::new(&camera())
    }
}

/// A neighbour to the right, turned back, with another lens.
fn neighbor(size_px: [u32; 2]) -> View<f64> {
    let q = [0.997, 0.01, 0.06, -0.02];
    let of = view(size_px);
    View {
        focal: [1.1 * of.focal[0], 1.15 * of.focal[1]],
        rotation: rotation(scale(q, 1.0 / norm(q))),
        translation: [-0.35, 0.08, 0.15],
        ..of
    }
}

/// A texture without edges.
fn texture([x, y, z]: [f64; 3]) -> f64 {
    0.5 + 0.2 * (3.1 * x + z).sin() + 0.15 * (2.7 * y - 0.8 * x).cos() + 0.1 * (5.3 * x + 4.1 * y).sin()
}

fn random(i: u32, channel: u32) -> f64 {
    rng::uniform::<f64>(31, 0, i, channel) - 0.5
}

/// Where a ray of a view meets the plane, camera space of the trained view; and its depth in that view.
fn hit(view: &View<f64>, i: u32) -> ([f64; 3], f64) {
    let ray = pixel_ray(view, [i % view.size_px[0], i / view.size_px[0]].map(f64::from));
    let back = transpose(view.rotation);
    let from = scale(mat_vec(back, view.translation), -1.0);
    let along = mat_vec(back, ray);
    let z = -(PLANE.1 + dot(PLANE.0, from)) / dot(PLANE.0, along);
    (add(from, scale(along, z)), z)
}

struct Scene {
    view: View<f64>,
    neighbor: View<f64>,
    blended: Vec<Blended<f64>>,
    greys: Vec<f64>,
    shown: Vec<Shown<f64>>,
}

impl Scene {
    /// The plane in both views, every pixel's `off` at random by that share, and photos with a bit of noise.
    fn new(size: [u32; 2], off: f64, noise: f64) -> Self {
        let (view, neighbor) = (view(size), neighbor(size));
        let pixels = 0..size[0] * size[1];
        let blended = pixels.clone().map(|i| {
            let cover = 0.8 + 0.3 * random(i, 0);
            let n = add(PLANE.0, scale([1, 2, 3].map(|c| random(i, c)), off));
            let distance = PLANE.1 * (1.0 + 0.1 * off * random(i, 4));
            Blended {
                plane: Plane {
                    normal: scale(n, cover),
                    distance: cover * distance,
                },
                transmittance: 1.0 - cover,
                ..Blended::default()
            }
        });
        let greys = pixels.clone().map(|i| texture(hit(&view, i).0) + noise * random(i, 5));
        let shown = pixels.clone().map(|i| {
            let (point, z) = hit(&neighbor, i);
            Shown {
                depth: z * (1.0 + 0.02 * off * random(i, 6)),
                grey: texture(point) + noise * random(i, 7),
            }
        });
        Self {
            blended: blended.collect(),
            greys: greys.collect(),
            shown: shown.collect(),
            view,
            neighbor,
        }
    }

    fn pair(&self) -> Pair<'_, f64> {
        Pair {
            view: &self.view,
            greys: &self.greys,
            neighbor: &self.neighbor,
            shown: &self.shown,
        }
    }

    /// Loss of what the trained view blends, with the weights of now, or with those of before.
    fn loss(&self, blended: &[Blended<f64>], consistency: Option<&[f64]>) -> PairLoss<f64> {
        let map = depth_map(blended, &self.view, &PLANES);
        let pair = self.pair();
        let own = consistency.map_or_else(|| pair.consistency(&map), <[f64]>::to_vec);
        let pixels = patch_pixels(self.view.size_px, (7, 3));
        pair.loss(blended, &map, &own, &pixels, WEIGHTS)
    }

    fn consistency(&self) -> Vec<f64> {
        self.pair().consistency(&depth_map(&self.blended, &self.view, &PLANES))
    }
}

/// From blended planes over depths, reprojection and homographies to the loss, against differences; the weights stay.
#[test]
fn gradients_by_planes_match_differences() {
    let mut scene = Scene::new([24, 18], 0.1, 0.05);
    for i in [40, 200] {
        scene.greys[i] = -1.0;
        scene.shown[i + 30].depth = 0.0;
        scene.shown[i + 35].grey = -1.0;
    }
    let kept = scene.consistency();
    let whole = scene.loss(&scene.blended, Some(&kept));
    assert!(whole.counts[0] > 150 && whole.counts[1] > 40, "{:?}", whole.counts);
    assert!(kept.iter().filter(|w| **w == 0.0).count() > 50);
    assert!(
        whole.geometry > 0.05 && whole.photometric > 0.01,
        "{} {}",
        whole.geometry,
        whole.photometric
    );
    let total = f64::from(WEIGHTS.geometry) * whole.geometry + f64::from(WEIGHTS.photometric) * whole.photometric;
    assert!((whole.total - total).abs() < 1e-12);
    let exact = &whole.gradient;
    let loss = |blended: &[Blended<f64>]| scene.loss(blended, Some(&kept)).total;
    follow_differences(&scene.blended, exact, (1e-6, &[0, 1, 2, 3]), |_| true, loss);
}

/// Planes that are right agree; going down the gradient makes wrong ones right.
#[test]
fn what_is_right_agrees_and_what_is_wrong_gets_better() {
    let means = |scene: &Scene| {
        let loss = scene.loss(&scene.blended, None);
        assert!(loss.counts[0] > 500 && loss.counts[1] > 300, "{:?}", loss.counts);
        [loss.geometry, loss.photometric]
    };
    let right = means(&Scene::new([40, 30], 0.0, 0.0));
    assert!(right.iter().all(|mean| *mean < 0.01), "{right:?}");
    let mut wrong = Scene::new([40, 30], 0.0, 0.0);
    for pixel in &mut wrong.blended {
        pixel.plane.distance *= 1.1;
    }
    let before = means(&wrong);
    // Greys between pixels are not quite the texture's, so that even what is right does not agree wholly.
    assert!((0..2).all(|k| before[k] > 2.0 * right[k]), "{before:?} {right:?}");
    for _ in 0..20 {
        let steps = wrong.loss(&wrong.blended, None).gradient;
        for (pixel, by) in wrong.blended.iter_mut().zip(steps) {
            pixel.plane.distance -= 40.0 * by.distance;
        }
    }
    let after = means(&wrong);
    let apart = |means: [f64; 2], k: usize| means[k] - right[k];
    assert!(
        (0..2).all(|k| apart(after, k) < 0.6 * apart(before, k)),
        "{after:?} {before:?}"
    );
}

/// A pixel that is covered less shows the same.
#[test]
fn coverage_cancels() {
    let mut scene = Scene::new([24, 18], 0.1, 0.05);
    let before = scene.loss(&scene.blended, None);
    for pixel in &mut scene.blended {
        pixel.plane.normal = scale(pixel.plane.normal, 0.7);
        pixel.plane.distance *= 0.7;
    }
    let after = scene.loss(&scene.blended, None);
    assert!((before.total - after.total).abs() < 1e-12);
    for (plane, pixel) in after.gradient.iter().zip(&scene.blended) {
        // Nothing pulls along what cancels.
        let along = dot(plane.normal, pixel.plane.normal) + plane.distance * pixel.plane.distance;
        assert!(along.abs() < 1e-9, "{along}");
    }
}

/// Views that share nothing, and images too small for anything, have no loss and no gradient.
#[test]
fn without_overlap_there_is_no_loss() {
    let mut apart = Scene::new([24, 18], 0.1, 0.05);
    apart.neighbor.rotation = rotation([0.0, 0.0, 1.0, 0.0]);
    let mut unseen = Scene::new([24, 18], 0.1, 0.05);
    unseen.shown.iter_mut().for_each(|shown| shown.depth = 0.0);
    for scene in [
        apart,
        unseen,
        Scene::new([1, 12], 0.1, 0.0),
        Scene::new([12, 1], 0.1, 0.0),
    ] {
        let loss = scene.loss(&scene.blended, None);
        assert_eq!((loss.counts, loss.total), ([0, 0], 0.0));
        assert!(loss.gradient.iter().all(|plane| *plane == Plane::ZERO));
    }
}

/// Each share of pixels has one patch, another in each step.
#[test]
fn patches_are_drawn_anew() {
    assert_eq!(patch_pixels([40, 30], (1, 1)), (0..1200).collect::<Vec<_>>());
    let large = [1600, 1063];
    let [one, other] = [1, 2].map(|iteration| patch_pixels(large, (1, iteration)));
    assert_eq!(one.len(), 1_700_800_usize.div_ceil(17));
    assert!(one.iter().zip(0..).all(|(pixel, k)| *pixel / 17 == k));
    let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
    assert!((one.len() / 20..one.len() / 14).contains(&same), "{same}");
}
