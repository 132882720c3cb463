//! Exact gradients against f64 finite differences, published ones against the formulas written out, samples against one pixel.

use super::backward::{FacetGradient, PixelGradient, backward};
use super::project::project;
use super::rasterize::{ALPHA_MAX, Scene, rasterize, scene};
use super::update::{VertexTerms, depth_off, gather, vertex_backward, vertex_terms};
use super::{Gradient, Settings, VALUES, Vertex};
use crate::gaussian::View;
use crate::project::ALPHA_MIN;
use crate::rasterize::TRANSMITTANCE_MIN;
use crate::rng::{normal, uniform};
use crate::scenes::camera;
use kiln_scene::math::{Vec3, dot, logit, sub};

const BACKGROUND: [f64; 3] = [0.2, 0.5, 0.9];

/// A patch of connected triangles, rough and before a soup of single ones.
pub(super) struct Model {
    vertices: Vec<Vertex<f64>>,
    triangles: Vec<[u32; 3]>,
    view: View<f64>,
}

fn model(seed: u32, opacities: [f64; 2]) -> Model {
    let between =
        |[low, high]: [f64; 2], id: u32, channel: u32| low + (high - low) * uniform::<f64>(seed, 1, id, channel);
    let vertex = |id: u32, position: Vec3<f64>| Vertex {
        position: std::array::from_fn(|i| position[i] + 0.1 * normal::<f64>(seed, 2, id, i as u32)),
        weight: logit(between(opacities, id, 20)),
        sh: std::array::from_fn(|k| {
            std::array::from_fn(|c| {
                let wide = if k == 0 { 0.8 } else { 0.15 };
                wide * normal::<f64>(seed, 3, id, (3 * k + c) as u32) + if k == 0 { 0.6 } else { 0.0 }
            })
        }),
    };
    const SIDE: u32 = 5;
    let place = |at: u32| -1.4 + 0.7 * f64::from(at);
    let mut vertices: Vec<_> = (0..SIDE * SIDE)
        .map(|id| vertex(id, [place(id % SIDE), place(id / SIDE), 0.0]))
        .collect();
    let cells = (0..SIDE - 1).flat_map(|y| (0..SIDE - 1).map(move |x| y * SIDE + x));
    let mut triangles: Vec<_> = cells
        .flat_map(|at| [[at, at + 1, at + SIDE], [at + SIDE + 1, at + SIDE, at + 1]])
        .collect();
    for t in 0..16 {
        let centre: Vec3<f64> = std::array::from_fn(|i| between([-1.5, 1.5], 100 + t, i as u32));
        let first = vertices.len() as u32;
        for k in 0..3 {
            let id = 200 + 3 * t + k;
            let corner = std::array::from_fn(|i| centre[i] + 0.5 * normal::<f64>(seed, 4, id, i as u32));
            vertices.push(vertex(id, corner));
        }
        triangles.push([first, first + 1, first + 2]);
    }
    Model {
        vertices,
        triangles,
        view: View::new(&camera()),
    }
}

fn settings(sigma: f64, samples: u32, gradient: Gradient) -> Settings {
    Settings {
        sigma,
        opacity_floor: 0.1,
        samples,
        sh_degree: 3,
        gradient,
    }
}

/// A loss that is linear in what pixels show.
fn pulls(view: &View<f64>, seed: u32) -> Vec<PixelGradient<f64>> {
    let random = |i: u32, channel: u32| 0.02 * normal::<f64>(seed, 9, i, channel);
    (0..view.size_px[0] * view.size_px[1])
        .map(|i| PixelGradient {
            rgb: std::array::from_fn(|c| random(i, c as u32)),
            normal: std::array::from_fn(|c| random(i, 3 + c as u32)),
            depth: random(i, 6),
            transmittance: random(i, 7),
        })
        .collect()
}

fn total(vertices: &[Vertex<f64>], m: &Model, s: &Settings, by_pixel: &[PixelGradient<f64>]) -> f64 {
    let (pixels, _) = rasterize(&scene(vertices, &m.triangles, &m.view, s), &m.view, s, BACKGROUND);
    let value = |(p, g): (&super::rasterize::Pixel<f64>, &PixelGradient<f64>)| {
        dot(p.rgb, g.rgb) + dot(p.normal, g.normal) + p.depth * g.depth + p.transmittance * g.transmittance
    };
    pixels.iter().zip(by_pixel).map(value).sum()
}

fn vertex_gradients(m: &Model, s: &Settings, drawn: &Scene<f64>, facets: &[FacetGradient<f64>]) -> Vec<Vertex<f64>> {
    let sums = gather(m.vertices.len(), &m.triangles, drawn, facets);
    let all = m.vertices.iter().zip(&drawn.projected).zip(&sums);
    all.map(|((vertex, seen), g)| vertex_backward(vertex, seen, g, &m.view, s))
        .collect()
}

/// Compares every value of every vertex; one is passed over where both one-sided differences disagree, because a threshold lies
/// between. Returns how many gradients that are not noise were compared by kind, and how many values were passed over.
fn compare(m: &Model, exact: &[Vertex<f64>], total: &dyn Fn(&[Vertex<f64>]) -> f64) -> ([usize; 3], usize) {
    let base = total(&m.vertices);
    let mut vertices = m.vertices.clone();
    let (mut compared, mut skipped) = ([0; 3], 0);
    let eps = 1e-6;
    for (id, gradient) in exact.iter().enumerate() {
        let (values, gradient) = (m.vertices[id].values(), gradient.values());
        // Colours are many and alike: some of each vertex stand for the others.
        for k in (0..VALUES).filter(|k| *k < 4 || (id + k).is_multiple_of(8)) {
            let mut at = |offset: f64| {
                let mut moved = values;
                moved[k] += offset;
                vertices[id] = Vertex::from_values(&moved);
                let out = total(&vertices);
                vertices[id] = m.vertices[id];
                out
            };
            let (high, low) = (at(eps), at(-eps));
            let (right, left) = ((high - base) / eps, (base - low) / eps);
            let numeric = (high - low) / (2.0 * eps);
            if (right - left).abs() > 1e-3 * numeric.abs() + 1e-7 {
                skipped += 1;
                continue;
            }
            let wanted = gradient[k];
            let noise = 3e-8;
            assert!(
                (numeric - wanted).abs() <= 1e-3 * numeric.abs().max(wanted.abs()) + noise,
                "vertex {id} value {k}: differences {numeric:e}, backward {wanted:e}"
            );
            if wanted.abs() > 1e2 * noise {
                compared[[0, 0, 0, 1].get(k).copied().unwrap_or(2)] += 1;
            }
        }
    }
    (compared, skipped)
}

#[test]
fn exact_gradients_follow_differences() {
    for (sigma, samples) in [(1.0, 1), (0.4, 1), (0.7, 2)] {
        let m = model(5, [0.15, 0.6]);
        let s = settings(sigma, samples, Gradient::Exact);
        let by_pixel = pulls(&m.view, 3);
        let drawn = scene(&m.vertices, &m.triangles, &m.view, &s);
        assert!(drawn.facets.len() >= 35, "{} drawn", drawn.facets.len());
        let (pixels, _) = rasterize(&drawn, &m.view, &s, BACKGROUND);
        assert!(pixels.iter().all(|p| p.transmittance > 2.0 * TRANSMITTANCE_MIN));
        let facets = backward(&drawn, &m.view, &s, BACKGROUND, &by_pixel);
        let exact = vertex_gradients(&m, &s, &drawn, &facets);
        let (compared, skipped) = compare(&m, &exact, &|vertices| total(vertices, &m, &s, &by_pixel));
        assert!(
            compared[0] > 120 && compared[1] > 20 && compared[2] > 120,
            "{compared:?}"
        );
        // Windows have a threshold at every border of a triangle and a ridge between its edges.
        assert!(skipped < 60, "{skipped} passed over");
    }
}

#[test]
fn terms_of_vertices_follow_differences() {
    let m = model(8, [0.15, 0.6]);
    let s = settings(1.0, 2, Gradient::Exact);
    let drawn = scene(&m.vertices, &m.triangles, &m.view, &s);
    let median: Vec<f64> = rasterize(&drawn, &m.view, &s, BACKGROUND)
        .0
        .iter()
        .map(|p| p.median)
        .collect();
    let mut corners = vec![0; m.vertices.len()];
    for v in m.triangles.iter().flatten() {
        corners[*v as usize] += 1;
    }
    let terms = VertexTerms {
        opacity: 0.3,
        depth: 0.2,
        depth_most: 0.5,
    };
    let none = || gather(m.vertices.len(), &m.triangles, &drawn, &[]);
    let loss = |vertices: &[Vertex<f64>]| {
        let moved = Scene {
            projected: vertices.iter().map(|v| project(v, &m.view, &s)).collect(),
            ..drawn.clone()
        };
        vertex_terms(&moved, &corners, &m.view, s.samples, &median, &terms, &mut none())
    };
    let mut sums = none();
    vertex_terms(&drawn, &corners, &m.view, s.samples, &median, &terms, &mut sums);
    let all = m.vertices.iter().zip(&drawn.projected).zip(&sums);
    let exact: Vec<_> = all
        .map(|((vertex, seen), g)| vertex_backward(vertex, seen, g, &m.view, &s))
        .collect();
    let counted = drawn
        .projected
        .iter()
        .filter(|p| depth_off(p, &m.view, 2, &median, 0.5).is_some());
    assert!(counted.count() > 10);
    let (compared, skipped) = compare(&m, &exact, &loss);
    assert!(
        compared[0] > 20 && compared[1] == m.vertices.len() && skipped < 10,
        "{compared:?} {skipped}"
    );
}

/// The published gradients of facets, written out sample by sample over all triangles.
fn transcribed(
    m: &Model,
    s: &Settings,
    drawn: &Scene<f64>,
    by_pixel: &[PixelGradient<f64>],
) -> Vec<FacetGradient<f64>> {
    let mut out = vec![FacetGradient::ZERO; drawn.facets.len()];
    let mut order: Vec<usize> = (0..drawn.facets.len()).collect();
    order.sort_by(|a, b| drawn.facets[*a].depth.total_cmp(&drawn.facets[*b].depth));
    let cross = |a: [f64; 2], b: [f64; 2]| a[0] * b[1] - a[1] * b[0];
    let f = s.samples;
    let share = 1.0 / f64::from(f * f);
    for y in 0..m.view.size_px[1] * f {
        for x in 0..m.view.size_px[0] * f {
            let p = [f64::from(x), f64::from(y)];
            let g = &by_pixel[(y / f * m.view.size_px[0] + x / f) as usize];
            // What covers the sample: facet, alpha, window, ratio's distance, edge, barycentrics, transmittance in front.
            let mut covers = Vec::new();
            let mut light = 1.0;
            for &i in &order {
                let facet = &drawn.facets[i];
                let v = facet.outline.points;
                let whole = cross(sub(v[1], v[0]), sub(v[2], v[0]));
                let share: [f64; 3] =
                    std::array::from_fn(|k| cross(sub(v[(k + 1) % 3], p), sub(v[(k + 2) % 3], p)) / whole);
                if share.iter().any(|l| *l <= 0.0) {
                    continue;
                }
                let side = |k: usize| sub(v[(k + 2) % 3], v[(k + 1) % 3]);
                let length = |d: [f64; 2]| d[0].hypot(d[1]);
                let distance = |k: usize| share[k] * whole.abs() / length(side(k));
                let opposite = (0..3).min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(0);
                let radius = whole.abs() / (0..3).map(|k| length(side(k))).sum::<f64>();
                let window = (distance(opposite) / radius).powf(s.sigma);
                let alpha = (facet.opacity * window).min(ALPHA_MAX);
                if alpha < ALPHA_MIN {
                    continue;
                }
                if light * (1.0 - alpha) < TRANSMITTANCE_MIN {
                    break;
                }
                light *= 1.0 - alpha;
                covers.push((i, alpha.min(0.99), window, distance(opposite), opposite, share));
            }
            let mut behind = dot(BACKGROUND, g.rgb) + g.transmittance;
            for (i, alpha, window, distance, opposite, shares) in covers.into_iter().rev() {
                let facet = &drawn.facets[i];
                let sum = &mut out[i];
                light /= 1.0 - alpha;
                let mut value = dot(facet.normal, g.normal);
                for (k, part) in shares.into_iter().enumerate() {
                    value += part * (dot(facet.colors[k], g.rgb) + facet.depths[k] * g.depth);
                    sum.depths[k] += share * alpha * light * part * g.depth;
                    for (color, g) in sum.colors[k].iter_mut().zip(g.rgb) {
                        *color += share * alpha * light * part * g;
                    }
                }
                let by_alpha = share * light * (value - behind);
                behind = alpha * value + (1.0 - alpha) * behind;
                sum.opacity += by_alpha * window;
                // The distance falls where a point of its edge comes nearer: as far along as the sample's foot on the edge.
                let (a, b) = ((opposite + 1) % 3, (opposite + 2) % 3);
                let v = facet.outline.points;
                let along = sub(v[b], v[a]);
                let t = dot(sub(p, v[a]), along) / dot(along, along);
                let foot: [f64; 2] = std::array::from_fn(|c| v[a][c] + t * along[c]);
                let inward: [f64; 2] = std::array::from_fn(|c| (p[c] - foot[c]) / distance);
                let by_distance = by_alpha * facet.opacity * s.sigma * window / distance;
                for (c, inward) in inward.into_iter().enumerate() {
                    sum.points[a][c] -= by_distance * (1.0 - t) * inward;
                    sum.points[b][c] -= by_distance * t * inward;
                }
            }
        }
    }
    out
}

fn flat(g: &FacetGradient<f64>) -> Vec<f64> {
    let mut all = g.points.as_flattened().to_vec();
    all.extend(g.depths);
    all.extend(g.colors.as_flattened());
    all.push(g.opacity);
    all
}

#[test]
fn published_gradients_are_the_formulas() {
    // Opacities above 0.99 too, where the published pass divides by another alpha than was drawn.
    for (opacities, sigma, samples) in [([0.15, 0.9], 0.8, 1), ([0.9, 0.9999], 0.05, 1), ([0.3, 0.95], 0.5, 3)] {
        let m = model(11, opacities);
        let s = settings(sigma, samples, Gradient::Published);
        let by_pixel = pulls(&m.view, 4);
        let drawn = scene(&m.vertices, &m.triangles, &m.view, &s);
        let found = backward(&drawn, &m.view, &s, BACKGROUND, &by_pixel);
        let wanted = transcribed(&m, &s, &drawn, &by_pixel);
        let mut large = 0;
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!((found.radius, found.normal), (0.0, [0.0; 3]));
            for (found, wanted) in flat(found).into_iter().zip(flat(wanted)) {
                assert!(
                    (found - wanted).abs() <= 1e-9 * wanted.abs() + 1e-12,
                    "{found:e} {wanted:e}"
                );
                large += usize::from(wanted.abs() > 1e-4);
            }
        }
        assert!(large > 100, "{large}");
    }
}

#[test]
fn published_gradients_lack_what_the_method_lacks() {
    let m = model(5, [0.15, 0.6]);
    let by_pixel: Vec<_> = pulls(&m.view, 3)
        .into_iter()
        .map(|g| PixelGradient { depth: 0.0, ..g })
        .collect();
    let gradients = |gradient| {
        let s = settings(1.0, 1, gradient);
        let drawn = scene(&m.vertices, &m.triangles, &m.view, &s);
        let facets = backward(&drawn, &m.view, &s, BACKGROUND, &by_pixel);
        vertex_gradients(&m, &s, &drawn, &facets)
    };
    let (published, exact) = (gradients(Gradient::Published), gradients(Gradient::Exact));
    let mut moved = 0;
    for (published, exact) in published.iter().zip(&exact) {
        assert_eq!(published.sh, exact.sh);
        assert_eq!(published.weight, exact.weight);
        moved += usize::from(published.position != exact.position);
    }
    assert!(moved > 40, "{moved}");
}

/// A picture of twice the size, averaged, is the picture with two samples a pixel along each axis.
#[test]
fn samples_are_pixels_of_a_larger_picture() {
    let m = model(2, [0.3, 0.95]);
    let s = settings(0.6, 2, Gradient::Published);
    let (pixels, importance) = rasterize(&scene(&m.vertices, &m.triangles, &m.view, &s), &m.view, &s, BACKGROUND);
    let large = View {
        size_px: m.view.size_px.map(|v| 2 * v),
        focal: m.view.focal.map(|v| 2.0 * v),
        centre: m.view.centre.map(|v| 2.0 * v),
        ..m.view
    };
    let s = Settings { samples: 1, ..s };
    let (parts, of_parts) = rasterize(&scene(&m.vertices, &m.triangles, &large, &s), &large, &s, BACKGROUND);
    let seen = |list: &[f64]| list.iter().copied().filter(|w| *w > 0.0).collect::<Vec<_>>();
    assert_eq!(seen(&importance), seen(&of_parts));
    let width = large.size_px[0] as usize;
    for (i, pixel) in pixels.iter().enumerate() {
        let (x, y) = (i % (width / 2), i / (width / 2));
        let parts = [0, 1, width, width + 1].map(|step| parts[2 * y * width + 2 * x + step]);
        let mean = |of: &dyn Fn(&super::rasterize::Pixel<f64>) -> f64| parts.iter().map(of).sum::<f64>() / 4.0;
        assert!((mean(&|p| p.rgb[1]) - pixel.rgb[1]).abs() < 1e-12);
        assert!((mean(&|p| p.normal[2]) - pixel.normal[2]).abs() < 1e-12);
        assert!((mean(&|p| p.depth) - pixel.depth).abs() < 1e-12);
        assert_eq!(parts[3].median, pixel.median);
    }
}

/// The window is 1 at the incentre and falls to 0 at the border; with a small exponent the triangle is solid.
#[test]
fn windows_peak_at_the_incentre() {
    let outline = super::window::Outline::<f64>::new([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]);
    assert!((outline.radius - 1.0).abs() < 1e-12);
    let at = |p, sigma| outline.at(p).map_or(0.0, |inside| outline.window(inside.phi, sigma));
    assert!((at([1.0, 1.0], 0.7) - 1.0).abs() < 1e-12);
    assert_eq!(at([2.0, 1.6], 1.0), 0.0);
    assert!((at([0.5, 1.0], 1.0) - 0.5).abs() < 1e-12);
    assert!(at([0.01, 1.0], 1e-4) > 0.999);
    let inside = outline.at([1.0, 0.5]).map(|i| i.shares);
    assert!(inside.is_some_and(|[a, b, c]| (a + b + c - 1.0).abs() < 1e-12 && (b - 0.25).abs() < 1e-12));
}
