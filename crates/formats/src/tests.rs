//! Files that one of two readers would have taken otherwise, and damaged ones.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use kiln_ply::{Element, Format, Header, Scalar};

use crate::compressed_ply::{CompressedPly, RANGES, Record, WORDS};
#[cfg(feature = "native")]
use crate::glb;
use crate::{Error, spz};

fn chunks(count: u64) -> Element {
    Element::new("chunk", count).with(Scalar::F32, RANGES)
}

fn words(count: u64) -> Element {
    Element::new("vertex", count).with(Scalar::U32, WORDS)
}

fn open(elements: Vec<Element>) -> Result<Option<CompressedPly>, Error> {
    CompressedPly::new(&Header {
        format: Format::LittleEndian,
        comments: Vec::new(),
        elements,
    })
}

/// Records of zeros: how many splats and rows of harmonics come out of how many bytes.
fn read(elements: Vec<Element>) -> [usize; 3] {
    let mut file = open(elements).unwrap().unwrap();
    let [mut splats, mut harmonics, mut bytes] = [0; 3];
    while let Some(stride) = file.stride() {
        bytes += stride;
        match file.read(&vec![0; stride]) {
            Record::Nothing => {}
            Record::Splat(_) => splats += 1,
            Record::Harmonics(_) => harmonics += 1,
        }
    }
    [splats, harmonics, bytes]
}

#[test]
fn elements_come_in_any_order_and_others_are_passed_over() {
    let sh = |prefix: &str| Element::new("sh", 3).with(Scalar::U8, (0..9).map(|i| format!("{prefix}{i}")));
    let nothing = Element::new("nothing", u64::MAX);
    let other = Element::new("other", 2).with(Scalar::F64, ["a"]);
    let elements = vec![sh("f_rest_"), nothing, chunks(1), other, words(3), chunks(9)];
    assert_eq!(read(elements), [3, 3, 27 + 72 + 16 + 48 + 9 * 72]);
    assert_eq!(read(vec![chunks(7), words(3), sh("value_")]), [3, 3, 7 * 72 + 48 + 27]);
    assert_eq!(read(vec![chunks(0), words(0)]), [0, 0, 0]);
}

#[test]
fn headers_that_make_no_sense_are_refused() {
    let refused = |elements: Vec<Element>| open(elements).unwrap_err().to_string();
    assert!(refused(vec![chunks(1), words(257)]).contains("1 chunks for 257 Gaussians"));
    assert!(refused(vec![words(3), chunks(1)]).contains("before the ranges"));
    assert!(refused(vec![chunks(1), words(u64::MAX)]).contains("more than can be read"));
    let sh = |count: u64, n: usize| Element::new("sh", count).with(Scalar::U8, (0..n).map(|i| format!("f_rest_{i}")));
    assert!(refused(vec![chunks(1), words(3), sh(3, 10)]).contains("10 f_rest properties"));
    assert!(refused(vec![chunks(1), words(3), sh(2, 9)]).contains("as many coefficients"));
    let list = Element::new("face", 1).with_list(Scalar::U8, Scalar::I32, "in\u{1b}dices");
    assert!(refused(vec![chunks(1), words(3), list]).contains("\"face\" holds a list"));
    // None of a range is guessed; those of colours are all there or none is.
    let without = |left_out: &str| {
        let names = RANGES.into_iter().filter(|name| *name != left_out);
        Element::new("chunk", 1).with(Scalar::F32, names)
    };
    for name in ["min_x", "max_y", "max_scale_z", "min_r", "max_b"] {
        assert!(
            refused(vec![without(name), words(3)]).contains("ranges of its chunks"),
            "{name}"
        );
    }
    let plain = Element::new("chunk", 1).with(Scalar::F32, RANGES[..12].iter().copied());
    assert!(open(vec![plain, words(3)]).unwrap().is_some());
    assert!(open(vec![chunks(1)]).unwrap().is_none());
}

#[test]
fn the_outermost_harmonics_are_the_ends() {
    let sh = Element::new("sh", 1).with(Scalar::U8, (0..9).map(|i| format!("f_rest_{i}")));
    let mut file = open(vec![chunks(1), words(1), sh]).unwrap().unwrap();
    let mut last = Record::Nothing;
    while let Some(stride) = file.stride() {
        let mut record = vec![0; stride];
        if stride == 9 {
            record[..3].copy_from_slice(&[0, 255, 128]);
        }
        last = file.read(&record);
    }
    let Record::Harmonics(rest) = last else {
        panic!("{last:?}")
    };
    assert_eq!([rest[0][0], rest[1][0], rest[2][0]], [-4.0, 4.0, 1.0 / 64.0]);
}

#[cfg(feature = "native")]
/// A stride says where the next splat is; of one splat alone it means nothing, and as a size of 32 bits it may be 0.
#[test]
fn one_splat_of_a_glb_has_no_stride() {
    let attributes = ["POSITION", "ROTATION", "SCALE", "OPACITY", "SH_DEGREE_0_COEF_0"];
    let named = |name: &str| match name {
        "POSITION" => name.to_owned(),
        _ => format!("{}:{name}", glb::EXTENSION),
    };
    let keys: Vec<String> = (0..5)
        .map(|at| format!("\"{}\": {at}", named(attributes[at])))
        .collect();
    let accessor = r#"{"bufferView": 0, "componentType": 5126, "count": 1}"#;
    let text = format!(
        r#"{{"bufferViews": [{{"byteLength": 16, "byteStride": 4294967296}}], "accessors": [{}],
            "primitive": {{"attributes": {{{}}}}}}}"#,
        [accessor; 5].join(","),
        keys.join(",")
    );
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut numbers = glb::Numbers::new(16);
    let set = glb::Set::new(&document, &document["primitive"], &mut numbers).unwrap();
    let mut longest = 0;
    let fetch = |first: u64, length: u64, bytes: &mut Vec<u8>| {
        longest = longest.max(first + length);
        bytes.clear();
        bytes.resize(length as usize, 0);
        Ok::<(), Error>(())
    };
    let mut splats = 0;
    set.splats(fetch, |_| splats += 1).unwrap();
    assert_eq!((splats, longest), (1, 16));
}

#[test]
fn spz_announces_what_is_checked() {
    let header = |version: u8, degree: u8, frames: u8| {
        let bytes = [
            b'N', b'G', b'S', b'P', version, 0, 0, 0, 5, 0, 0, 0, degree, 12, 1, frames,
        ];
        spz::Header::parse(&bytes, spz::VERSIONS)
    };
    let four = header(4, 3, 6).unwrap();
    assert_eq!(four.sizes(), [45, 5, 15, 15, 20, 225]);
    let mut table = [0; 96];
    (0..6).for_each(|at| table[16 * at] = at as u8 + 1);
    assert_eq!(four.frames(&table).unwrap(), [1, 2, 3, 4, 5, 6]);
    // Fewer frames than attributes, though the file says so.
    let few = header(4, 1, 5).unwrap();
    assert!(
        few.frames(&table[..few.table_bytes()])
            .unwrap_err()
            .to_string()
            .contains("lacks an attribute")
    );
    assert_eq!(header(2, 0, 0).unwrap().sizes(), [45, 5, 15, 15, 15, 0]);
    for (version, degree) in [(1, 0), (5, 0), (3, 5)] {
        assert!(header(version, degree, 0).is_err());
    }
    assert_eq!(
        (header(3, 4, 0).unwrap().degree(), header(3, 4, 0).unwrap().sizes()[5]),
        (3, 5 * 72)
    );
}
