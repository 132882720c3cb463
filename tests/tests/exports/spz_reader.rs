//! A reader of SPZ versions 2 to 4, from the description of the format. It shares no code with the writer and
//! decompresses zstd with another library than the writer compresses with.

use std::io::Read as _;

use crate::exports::model::{Splat, turned};

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) count: usize,
    pub(crate) sh_degree: u32,
    pub(crate) fraction_bits: u32,
    pub(crate) flags: u8,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> usize {
    let value = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    usize::try_from(value).expect("a size")
}

/// The first 15 bytes are the same in both versions.
fn header(bytes: &[u8]) -> Header {
    assert_eq!(&bytes[..4], b"NGSP");
    Header {
        version: word(bytes, 4),
        count: word(bytes, 8) as usize,
        sh_degree: bytes[12].into(),
        fraction_bits: bytes[13].into(),
        flags: bytes[14],
    }
}

/// Reads a whole file; splats are in the axes of PLY files.
pub(crate) fn read(file: &[u8]) -> (Header, Vec<Splat>) {
    let (header, attributes) = if file.starts_with(b"NGSP") {
        version_4(file)
    } else {
        one_stream(file)
    };
    let (n, coefficients) = (header.count, (header.sh_degree as usize + 1).pow(2) - 1);
    let rotation_bytes = if header.version == 2 { 3 } else { 4 };
    let sizes = [9, 1, 3, 3, rotation_bytes, 3 * coefficients].map(|each| each * n);
    assert_eq!(attributes.len(), sizes.iter().sum::<usize>());
    let mut rest = attributes.as_slice();
    let [positions, alphas, colours, scales, rotations, harmonics] = sizes.map(|size| {
        let (part, behind) = rest.split_at(size);
        rest = behind;
        part
    });
    let splats = (0..n).map(|i| {
        let three = |part: &[u8]| [0, 1, 2].map(|k| f64::from(part[3 * i + k]));
        let position = |k: usize| {
            let at = 9 * i + 3 * k;
            // three bytes, the sign in the last one
            let fixed = i32::from_le_bytes([0, positions[at], positions[at + 1], positions[at + 2]]) >> 8;
            f64::from(fixed) / f64::from(1_u32 << header.fraction_bits)
        };
        let harmonic = |k: usize, channel: usize| {
            let byte = harmonics[3 * coefficients * i + 3 * k + channel];
            (f64::from(byte) - 128.0) / 128.0
        };
        turned(Splat {
            mean: [0, 1, 2].map(position),
            quat: match header.version {
                2 => short_quaternion(three(rotations)),
                _ => quaternion(word(rotations, 4 * i)),
            },
            log_scale: three(scales).map(|v| v / 16.0 - 10.0),
            opacity: f64::from(alphas[i]) / 255.0,
            sh0: three(colours).map(|v| (v / 255.0 - 0.5) / 0.15),
            rest: (0..coefficients).map(|k| [0, 1, 2].map(|c| harmonic(k, c))).collect(),
        })
    });
    (header, splats.collect())
}

/// Versions 2 and 3, one gzip stream: a header of 16 bytes, then the attributes.
fn one_stream(file: &[u8]) -> (Header, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut stream = flate2::bufread::GzDecoder::new(file);
    stream.read_to_end(&mut bytes).expect("a gzip stream");
    assert!(stream.into_inner().is_empty(), "nothing follows the stream");
    let header = header(&bytes);
    assert!((2..=3).contains(&header.version) && bytes[15] == 0);
    (header, bytes.split_off(16))
}

/// A header of 32 bytes, a table of sizes, and a zstd frame an attribute.
fn version_4(file: &[u8]) -> (Header, Vec<u8>) {
    let header = header(file);
    let (streams, table) = (usize::from(file[15]), word(file, 16) as usize);
    assert_eq!((header.version, header.flags & 2, table), (4, 0, 32), "no extensions");
    assert_eq!(file[20..32], [0; 12]);
    let mut at = table + 16 * streams;
    let mut all = Vec::new();
    for stream in 0..streams {
        let [compressed, plain] = [0, 8].map(|half| long(file, table + 16 * stream + half));
        let frame = &file[at..at + compressed];
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(frame).expect("a frame");
        assert_eq!(decoder.decoder.content_size(), plain as u64, "the frame has its size");
        let mut bytes = Vec::new();
        decoder.read_to_end(&mut bytes).expect("a frame");
        assert!(decoder.into_inner().is_empty(), "one frame");
        assert_eq!(bytes.len(), plain);
        all.extend(bytes);
        at += compressed;
    }
    assert_eq!(at, file.len());
    (header, all)
}

/// Two bits say which of x, y, z, w is left out; nine bits and a sign are the size of each other one over 1/sqrt 2.
fn quaternion(word: u32) -> [f64; 4] {
    let left_out = (word >> 30) as usize;
    let mut xyzw = [0.0; 4];
    let others = (0..4).filter(|&i| i != left_out);
    for (i, shift) in others.zip([20, 10, 0]) {
        let size = f64::from(word >> shift & 511) / 511.0 * 0.5_f64.sqrt();
        xyzw[i] = if word >> shift & 512 == 0 { size } else { -size };
    }
    xyzw[left_out] = (1.0 - xyzw.iter().map(|v| v * v).sum::<f64>()).max(0.0).sqrt();
    let [x, y, z, w] = xyzw;
    [w, x, y, z]
}

/// x, y and z as bytes from -1 to 1; w is what is left of a unit quaternion, and not negative.
fn short_quaternion(bytes: [f64; 3]) -> [f64; 4] {
    let [x, y, z] = bytes.map(|byte| byte / 127.5 - 1.0);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    [w, x, y, z]
}
