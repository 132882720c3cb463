//! Whole files: what comes back, and what is refused.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;

use super::*;
use crate::webp::encode;

/// Gaussians at random: needles and discs all over, most of them near the origin.
pub(crate) struct Random {
    count: usize,
    degree: u32,
    rest: Vec<f32>,
}

impl Random {
    pub(crate) fn new(count: usize, degree: u32) -> Self {
        let values = splats::rest_values(degree);
        let rest = (0..count * values).map(|at| noise(at as u32 + 77) - 0.5).collect();
        Self { count, degree, rest }
    }
}

/// 0 to 1.
fn noise(seed: u32) -> f32 {
    let mut x = seed.wrapping_mul(0x9e37_79b9) ^ seed >> 15;
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    ((x ^ x >> 16) >> 8) as f32 / (1 << 24) as f32
}

impl Splats for Random {
    fn len(&self) -> usize {
        self.count
    }
    fn sh_degree(&self) -> u32 {
        self.degree
    }
    fn mean(&self, index: usize) -> [f32; 3] {
        let radius = 50.0_f32.powf(noise(index as u32) * 2.0 - 1.0);
        [1, 2, 3].map(|axis| radius * (2.0 * noise(index as u32 * 3 + axis) - 1.0))
    }
    fn quat(&self, index: usize) -> [f32; 4] {
        let quat = [5, 6, 7, 8].map(|part| noise(index as u32 * 11 + part) - 0.5);
        let length = quat.iter().map(|v| v * v).sum::<f32>().sqrt();
        quat.map(|v| v / length)
    }
    fn log_scales(&self, index: usize) -> [f32; 3] {
        [20, 21, 22].map(|axis| -8.0 + 7.0 * noise(index as u32 * 7 + axis))
    }
    fn opacity(&self, index: usize) -> f32 {
        noise(index as u32 + 900)
    }
    fn sh0(&self, index: usize) -> [f32; 3] {
        [30, 31, 32].map(|channel| 4.0 * noise(index as u32 * 5 + channel) - 2.0)
    }
    fn rest(&self, index: usize) -> &[f32] {
        let values = splats::rest_values(self.degree);
        &self.rest[index * values..][..values]
    }
}

fn archive(splats: &dyn Splats) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_archive(splats, true, &mut bytes).unwrap();
    bytes
}

/// Every value is within what the guide states, at every degree; bytes are the same each time.
#[test]
fn values_come_back() {
    for degree in 0..=3 {
        let splats = Random::new(900, degree);
        let bytes = archive(&splats);
        assert_eq!(bytes, archive(&splats));
        let model = read_archive(&bytes).unwrap();
        assert_eq!(
            (model.means.len(), model.sh_degree, model.antialiased),
            (900, degree, Some(true))
        );
        for index in 0..900 {
            let mean = splats.mean(index);
            for axis in 0..3 {
                // half a step of what spans 2 ln(1 + 50) at most
                let most = 0.5 * 7.9 / 65_535.0 * (1.0 + mean[axis].abs()) + 1e-6;
                assert!(
                    (mean[axis] - model.means[index][axis]).abs() < most,
                    "{mean:?} {:?}",
                    model.means[index]
                );
            }
            let dot: f32 = splats
                .quat(index)
                .iter()
                .zip(model.quats[index])
                .map(|(a, b)| a * b)
                .sum();
            assert!(dot.abs() > 1.0 - 5e-5, "{dot}");
            for (a, b) in splats.log_scales(index).into_iter().zip(model.log_scales[index]) {
                assert!((a - b).abs() <= 7.0 / 128.0);
            }
            for (a, b) in splats.sh0(index).into_iter().zip(model.sh0[index]) {
                assert!((a - b).abs() <= 4.0 / 128.0);
            }
            assert!((splats.opacity(index) - f32::from(model.opacities[index]) / 255.0).abs() <= 0.502 / 255.0);
            // fewer Gaussians than entries of the palette: only the codebook rounds
            let values = splats::rest_values(degree);
            for (a, b) in splats.rest(index).iter().zip(&model.sh_rest[index * values..]) {
                assert!((a - b).abs() <= 1.0 / 128.0);
            }
        }
    }
}

#[test]
fn no_gaussian_one_and_many_alike() {
    assert!(matches!(
        write_archive(&Random::new(0, 0), false, &mut Vec::new()),
        Err(Error::TooLarge(_))
    ));
    let model = read_archive(&archive(&Random::new(1, 3))).unwrap();
    assert_eq!((model.means.len(), model.sh_rest.len()), (1, 45));
}

fn files(splats: &dyn Splats) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    write_files(splats, false, &mut |name, bytes| {
        files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    })
    .unwrap();
    files
}

/// Archives cut anywhere and bytes that changed are errors or other values, never a panic.
#[test]
fn damaged_archives_are_errors() {
    let whole = archive(&Random::new(50, 1));
    for kept in (0..whole.len()).step_by(7) {
        assert!(read_archive(&whole[..kept]).is_err(), "{kept}");
    }
    for at in (0..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        let _ = read_archive(&changed);
    }
    // without the checksum of the archive in front, whatever the image's reader makes of it
    let whole = files(&Random::new(50, 1));
    for name in whole.keys() {
        for at in (0..whole[name].len()).step_by(5) {
            let mut changed = whole.clone();
            changed.get_mut(name).unwrap()[at] ^= 0x41;
            let _ = read_files(&changed[META], &mut |name| {
                changed.get(name).cloned().ok_or_else(|| Error::damaged("none"))
            });
        }
    }
}

/// What a description may say wrongly, each named.
#[test]
fn descriptions_are_held_against_the_images() {
    let whole = files(&Random::new(50, 2));
    let text = String::from_utf8(whole[META].clone()).unwrap();
    let refused = |from: &str, to: &str, words: &str| {
        assert!(text.contains(from), "{from} in {text}");
        let changed = text.replacen(from, to, 1);
        let found = read_files(changed.as_bytes(), &mut |name| {
            whole
                .get(name)
                .cloned()
                .ok_or_else(|| Error::damaged(format!("no file {name}")))
        });
        let error = found.err().map_or(String::new(), |e| e.to_string());
        assert!(error.contains(words), "{words}: {error}");
    };
    refused("\"version\":2", "\"version\":3", "version 3; version 2 is read");
    refused("\"version\":2,", "", "version 1");
    refused("\"count\":50", "\"count\":65", "64 pixels for 65 Gaussians");
    refused("\"count\":50", "\"count\":99999999999", "99999999999 Gaussians");
    refused("\"count\":50", "\"count\":-1", "makes no sense");
    refused("\"bands\":2", "\"bands\":3", "take rows of 960");
    refused("\"bands\":2", "\"bands\":9", "9 bands");
    refused("\"codebook\":[", "\"codebook\":[[", "makes no sense");
    refused("means_u.webp", "elsewhere.webp", "no file elsewhere.webp");
    refused("quats.webp", "sh0.webp", "names no component");
    refused("\"mins\":[", "\"mins\":[1e9,", "makes no sense");
    refused("\"version\":2", "\"version\":2,\"version\":2", "makes no sense");
}

/// An image of one value takes a few bytes, whatever its size: it is not believed.
#[test]
fn small_images_of_many_pixels_are_refused() {
    let mut whole = files(&Random::new(50, 0));
    let huge = encode(&vec![[0, 0, 0, 255]; 4096 * 4096], 4096).unwrap();
    assert!(huge.len() < 30_000);
    whole.insert("quats.webp".to_owned(), huge);
    let error = read_files(&whole[META], &mut |name| Ok(whole[name].clone())).unwrap_err();
    assert!(
        error.to_string().contains("quats.webp: an image of 4096 x 4096"),
        "{error}"
    );
}

/// Images of one value each, as long as that many pixels need be: what they announce takes more memory than their bytes warrant.
#[test]
fn few_bytes_are_not_many_gaussians() {
    let side: usize = 2048;
    let mut one = encode(&vec![[0, 0, 0, 255]; side * side], side).unwrap();
    // a chunk that readers pass over
    one.extend(b"JUNK\0\x04\0\0");
    one.extend([0; 1024]);
    let length = (one.len() - 8) as u32;
    one[4..8].copy_from_slice(&length.to_le_bytes());
    let read = |degree: u32| {
        let whole = files(&Random::new(50, degree));
        let text = String::from_utf8(whole[META].clone()).unwrap();
        let text = text.replacen("\"count\":50", &format!("\"count\":{}", side * side), 1);
        read_files(text.as_bytes(), &mut |name| match name.contains("centroids") {
            true => Ok(whole[name].clone()),
            false => Ok(one.clone()),
        })
    };
    let error = read(3).unwrap_err().to_string();
    assert!(
        error.contains("4194304 Gaussians, which take 977 MB of memory, in "),
        "{error}"
    );
    let error = read(0).unwrap_err().to_string();
    assert!(
        error.contains("4194304 Gaussians, which take 222 MB of memory, in "),
        "{error}"
    );
}
