#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::collections::BTreeMap;

use super::*;
use crate::splat::{Splat, rest_count};

/// Splats that look random and are the same every time.
pub(crate) struct Random {
    count: usize,
    degree: u32,
    rest: Vec<f32>,
}

impl Random {
    pub(crate) fn new(count: usize, degree: u32) -> Self {
        let values = count * 3 * rest_count(degree);
        Self {
            count,
            degree,
            rest: (0..values).map(|at| noise(at as u32 + 7) * 0.6).collect(),
        }
    }
}

/// From -1 to 1.
fn noise(seed: u32) -> f32 {
    let mixed = (seed.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995).wrapping_mul(0x85eb_ca6b);
    ((mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35) >> 8) as f32 / 8_388_608.0 - 1.0
}

fn three(index: usize, salt: u32) -> [f32; 3] {
    std::array::from_fn(|axis| noise(index as u32 * 31 + salt * 1009 + axis as u32))
}

impl kiln_formats::sog::Splats for Random {
    fn len(&self) -> usize {
        self.count
    }
    fn sh_degree(&self) -> u32 {
        self.degree
    }
    fn mean(&self, index: usize) -> [f32; 3] {
        three(index, 1).map(|v| v * v * v * 80.0)
    }
    fn quat(&self, index: usize) -> [f32; 4] {
        let [x, y, z] = three(index, 2);
        crate::math::unit_quat([noise(index as u32), x, y, z]).unwrap()
    }
    fn log_scales(&self, index: usize) -> [f32; 3] {
        three(index, 3).map(|v| v * 3.0 - 4.0)
    }
    fn opacity(&self, index: usize) -> f32 {
        noise(index as u32 + 99).abs()
    }
    fn sh0(&self, index: usize) -> [f32; 3] {
        three(index, 4)
    }
    fn rest(&self, index: usize) -> &[f32] {
        let n = 3 * rest_count(self.degree);
        &self.rest[index * n..(index + 1) * n]
    }
}

pub(crate) fn archive(count: usize, degree: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    kiln_formats::sog::write_archive(&Random::new(count, degree), true, &mut bytes).unwrap();
    bytes
}

fn splats(bytes: &[u8]) -> Result<(Meta, Vec<Splat>), Refusal> {
    let (meta, files) = open(bytes)?;
    let mut splats = Vec::new();
    let each = |splat: &kiln_formats::Splat| splats.extend(Splat::of(splat));
    meta.splats(&files, each).map_err(|e| e.to_string())?;
    Ok((meta, splats))
}

fn near(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 2e-6 * a.abs().max(1.0))
}

/// At every degree the values are those that the engine's reader finds.
#[test]
fn values_are_those_of_the_engine() {
    for degree in 0..=3 {
        let bytes = archive(700, degree);
        let wanted = kiln_formats::sog::read_archive(&bytes).unwrap();
        let (meta, found) = splats(&bytes).unwrap();
        assert_eq!((meta.sh_degree(), found.len()), (degree, 700));
        assert_eq!(filter(&meta), Filter::Mip(MIP_KERNEL));
        let n = 3 * rest_count(degree);
        for (i, splat) in found.iter().enumerate() {
            assert!(
                near(&splat.mean, &wanted.means[i]),
                "{:?} {:?}",
                splat.mean,
                wanted.means[i]
            );
            assert!(
                near(&splat.quat, &wanted.quats[i]),
                "{:?} {:?}",
                splat.quat,
                wanted.quats[i]
            );
            assert_eq!((splat.log_scale, splat.dc), (wanted.log_scales[i], wanted.sh0[i]));
            assert_eq!(splat.opacity, f32::from(wanted.opacities[i]) / 255.0);
            assert_eq!(splat.rest.as_flattened()[..n], wanted.sh_rest[n * i..n * (i + 1)]);
        }
    }
}

#[test]
fn damaged_archives_are_refused_and_none_panics() {
    let bytes = archive(60, 1);
    let (_, whole) = splats(&bytes).unwrap();
    for kept in (0..bytes.len()).step_by(17) {
        assert!(splats(&bytes[..kept]).is_err(), "{kept}");
    }
    for at in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        // What is not refused was no part of the splats.
        if let Ok((_, found)) = splats(&changed) {
            assert_eq!(found, whole, "{at}");
        }
    }
    let refused = |bytes: &[u8]| splats(bytes).err().unwrap();
    let name = bytes.windows(10).position(|part| part == b"quats.webp").unwrap();
    let mut changed = bytes.clone();
    changed[name + 30] ^= 1;
    assert!(refused(&changed).contains("quats.webp in its archive is damaged"));
    assert!(refused(b"PK\x03\x04more").contains("truncated or no archive"));
}

/// Files of so many splats, and what their description says.
fn files_of(count: usize) -> (BTreeMap<String, Vec<u8>>, Meta) {
    let mut files = BTreeMap::new();
    kiln_formats::sog::write_files(&Random::new(count, 2), false, &mut |name, bytes| {
        files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    })
    .unwrap();
    let meta = describe(&files[META]).unwrap();
    (files, meta)
}

/// What a description may say wrongly.
#[test]
fn descriptions_are_held_against_the_images() {
    let (files, _) = files_of(50);
    let text = String::from_utf8(files[META].clone()).unwrap();
    for (from, to, words) in [
        ("\"version\":2", "\"version\":3", "version 2"),
        ("\"version\":2,", "", "version 1"),
        ("\"count\":50", "\"count\":65", "64 pixels"),
        ("\"count\":50", "\"count\":16777216", "64 pixels for 16777216"),
        ("\"count\":50", "\"count\":99999999999", "does not describe"),
        ("\"bands\":2", "\"bands\":3", "pixels"),
        ("\"bands\":2", "\"bands\":9", "9 bands"),
        ("means_u.webp", "../means_u.webp", "does not describe"),
        ("quats.webp", "sh0.webp", "names no component"),
        ("{", "[", "not valid JSON"),
    ] {
        let changed = text.replacen(from, to, 1);
        let read = describe(changed.as_bytes()).and_then(|meta| {
            let of: Vec<&[u8]> = meta.images().map(|name| files[name].as_slice()).collect();
            meta.splats(&of, |_| ()).map_err(|e| e.to_string())
        });
        let why = read.unwrap_err();
        assert!(why.contains(words), "{words}: {why}");
    }
}

/// A few bytes may be an image of any size; it is refused before it is read where the splats do not need it.
#[test]
fn images_are_not_larger_than_the_splats_need() {
    let (files, mut meta) = files_of(50);
    let mut images: Vec<&[u8]> = meta.images().map(|name| files[name].as_slice()).collect();
    assert!(meta.splats(&images, |_| ()).is_ok());
    // 4096 x 4096 pixels of one colour, the rest of the file being zeros.
    let data = [&[0x2f, 0xff, 0xcf, 0xff, 0x03][..], &[0; 12]].concat();
    let bomb = [b"RIFF\0\0\0\0WEBPVP8L", &(data.len() as u32).to_le_bytes()[..], &data].concat();
    images[2] = &bomb;
    let why = meta.splats(&images, |_| ()).unwrap_err().to_string();
    assert!(why.contains("quats.webp: an image of 4096 x 4096 pixels"), "{why}");
    meta.count = 65;
    let why = meta.splats(&images, |_| ()).unwrap_err().to_string();
    assert!(why.contains("64 pixels for 65 Gaussians"), "{why}");
}
