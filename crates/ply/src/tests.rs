//! Headers and rows, good ones and damaged ones.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;

const HEADER: &str = "ply\nformat binary_big_endian 1.0\ncomment made by hand\nelement face 2\n\
    property list uchar short ids\nproperty int n\nelement vertex 1\nproperty double x\nproperty uchar red\n\
    end_header\n";

fn refused(text: &str) -> BadLine {
    Header::parse(text.as_bytes()).unwrap_err()
}

/// The header of a file with one element, `rows` of it announced.
fn header(format: Format, rows: u64, scalar: Scalar, names: &[&str]) -> Header {
    Header {
        format,
        comments: Vec::new(),
        elements: vec![Element::new("vertex", rows).with(scalar, names.iter().copied())],
    }
}

#[test]
fn a_header_is_read_as_it_is_written() {
    let (read, length) = Header::parse(HEADER.as_bytes()).unwrap().unwrap();
    assert_eq!((read.to_string(), length), (HEADER.to_owned(), HEADER.len()));
    assert_eq!(read.comments, ["made by hand"]);
    let [face, vertex] = &read.elements[..] else {
        unreachable!("two elements")
    };
    assert_eq!((face.stride, face.least_row_bytes(read.format)), (4, 5));
    assert_eq!((vertex.stride, vertex.least_row_bytes(Format::Ascii)), (9, 4));
    assert_eq!(
        vertex.property("red").map(|red| (red.offset, red.scalar)),
        Some((8, Scalar::U8))
    );
    assert_eq!(vertex.property("green"), None);
    let other = HEADER.replace("comment", "\n  obj_info ").replace('\n', " \r\n");
    let other = other
        .strip_prefix("ply \r")
        .map(|rest| format!("ply\r{rest}data"))
        .unwrap();
    let (same, length) = Header::parse(other.as_bytes()).unwrap().unwrap();
    assert_eq!((same, length), (read, other.len() - 4));
}

#[test]
fn a_header_that_has_not_come_yet_is_waited_for() {
    for end in 0..HEADER.len() {
        assert_eq!(Header::parse(&HEADER.as_bytes()[..end]), Ok(None), "{end}");
        let Err(Error::Line { line, found }) = Reader::new(&HEADER.as_bytes()[..end]).header() else {
            unreachable!("{end} bytes are no header")
        };
        assert!(line >= 1 && found.contains("end of the file"), "{line}: {found}");
    }
}

#[test]
fn lines_without_sense_are_named() {
    for (from, to, line, what) in [
        ("ply\n", "plx\n", 1, "no \"ply\""),
        ("ply\n", "plywood\n", 1, "no \"ply\""),
        ("ply\n", "solid", 1, "no \"ply\""),
        ("big_endian", "middle_endian", 2, "means nothing"),
        ("1.0", "1.1", 2, "means nothing"),
        ("format binary_big_endian 1.0\n", "", 9, "no format"),
        ("face 2", "face -1", 4, "no number"),
        ("face 2", "face 18446744073709551616", 4, "no number"),
        ("element face 2\n", "", 4, "before any element"),
        ("list uchar short", "list half short", 5, "unknown type"),
        ("list uchar short", "list uchar", 5, "means nothing"),
        ("int n", "word n", 6, "unknown type"),
        ("double x", "double red", 9, "there before"),
        ("uchar red", "uchar", 9, "means nothing"),
        ("comment", "remark", 3, "means nothing"),
    ] {
        let bad = refused(&HEADER.replace(from, to));
        assert!(bad.line == line && bad.what.contains(what), "{to}: {bad:?}");
    }
    let bad = refused("ply\n\u{1b}[31mred\u{7}\n");
    assert_eq!(bad.to_string(), "a line that means nothing: `[31mred`");
}

#[test]
fn headers_have_an_end() {
    let endless = format!("ply\n{}", "x".repeat(MAX_HEADER_BYTES));
    let comments = format!("ply\n{}", "comment\n".repeat(MAX_HEADER_BYTES / 8));
    for (text, line) in [(&endless, 2), (&comments, 8193)] {
        let bad = refused(text);
        assert_eq!((bad.line, bad.what), (line, "no end_header within 64 KiB"));
        let mut reader = Reader::new(text.as_bytes());
        assert!(matches!(reader.header(), Err(Error::Line { .. })));
        assert_eq!(reader.offset(), MAX_HEADER_BYTES as u64, "nothing is read beyond");
    }
    let names: String = (0..1025).map(|i| format!("property char {i}\n")).collect();
    assert_eq!(
        refused(&format!("ply\nelement a 1\n{names}")).what,
        "too many properties"
    );
}

#[test]
fn rows_of_fixed_size_lie_behind_what_comes_before() {
    let (mut read, _) = Header::parse(HEADER.as_bytes()).unwrap().unwrap();
    assert_eq!(read.fixed("vertex").unwrap_err().name, "face");
    read.elements[0] = Element::new("chunk", 3).with(Scalar::F32, ["a", "b"]);
    let (vertex, before) = read.fixed("vertex").unwrap().unwrap();
    assert_eq!((vertex.name.as_str(), vertex.bytes(), before), ("vertex", 9, 24));
    assert_eq!(read.fixed("edge"), Ok(None));
    read.elements[0].count = u64::MAX;
    assert_eq!(read.fixed("vertex").unwrap().unwrap().1, u64::MAX);
}

#[test]
fn every_type_is_read_in_either_order() {
    let types = "char uchar short ushort int uint float double";
    let values = [-5.0, 200.0, -300.0, 60_000.0, -70_000.0, 4e9, 0.5, -0.1];
    let raw: [&[u8]; 8] = [
        &(-5_i8).to_le_bytes(),
        &[200],
        &(-300_i16).to_le_bytes(),
        &60_000_u16.to_le_bytes(),
        &(-70_000_i32).to_le_bytes(),
        &4_000_000_000_u32.to_le_bytes(),
        &0.5_f32.to_le_bytes(),
        &(-0.1_f64).to_le_bytes(),
    ];
    let properties: String = types
        .split(' ')
        .map(|name| format!("property {name} {name}_\n"))
        .collect();
    for format in [Format::LittleEndian, Format::BigEndian] {
        let text = format!(
            "ply\nformat {} 1.0\nelement a 1\n{properties}end_header\n",
            format.name()
        );
        let mut bytes = text.clone().into_bytes();
        for number in raw {
            let mut number = number.to_vec();
            if format == Format::BigEndian {
                number.reverse();
            }
            bytes.extend(number);
        }
        let mut reader = Reader::new(&bytes[..]);
        let header = reader.header().unwrap();
        assert_eq!(header.to_string(), text);
        let (mut row, [element]) = (Vec::new(), &header.elements[..]) else {
            unreachable!("one element")
        };
        reader.row(format, element, &mut row).unwrap();
        assert_eq!((&row[..], reader.offset()), (&values[..], bytes.len() as u64));
        if format == Format::LittleEndian {
            let fixed = element
                .properties
                .iter()
                .map(|property| property.read(&bytes[text.len()..]));
            assert!(fixed.eq(values.map(|value| value as f32)));
        }
        assert!(matches!(
            reader.row(format, element, &mut row),
            Err(Error::Truncated { needed: 1, .. })
        ));
    }
}

#[test]
fn lists_are_passed_over() {
    let text = "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int ids\nproperty float area\n\
        end_header\n3 7 8 9 0.5\n";
    let mut reader = Reader::new(text.as_bytes());
    let (header, mut row) = (reader.header().unwrap(), Vec::new());
    reader.row(Format::Ascii, &header.elements[0], &mut row).unwrap();
    assert_eq!(row, [3.0, 0.5]);
    // A length of which the bytes cannot be counted.
    let text = "ply\nformat binary_little_endian 1.0\nelement face 1\nproperty list double double ids\nend_header\n";
    let bytes = [text.as_bytes(), &1e300_f64.to_le_bytes(), &[0; 99]].concat();
    let mut reader = Reader::new(&bytes[..]);
    let header = reader.header().unwrap();
    let Err(Error::Truncated { needed, .. }) = reader.row(header.format, &header.elements[0], &mut row) else {
        unreachable!("no file has them")
    };
    assert_eq!(needed, u64::MAX);
}

#[test]
fn items_of_lists_are_kept_on_request() {
    let element = Element::new("face", 1)
        .with_list(Scalar::U8, Scalar::I32, "ids")
        .with(Scalar::F32, ["area"])
        .with_list(Scalar::U32, Scalar::U8, "marks");
    let header = |format| Header {
        format,
        comments: Vec::new(),
        elements: vec![element.clone()],
    };
    let text = format!("{}3 7 8 -9 0.5 1 200\n", header(Format::Ascii));
    let mut binary = header(Format::LittleEndian).to_string().into_bytes();
    binary.push(3);
    binary.extend([7_i32, 8, -9].map(i32::to_le_bytes).concat());
    binary.extend(0.5_f32.to_le_bytes());
    binary.extend([1, 0, 0, 0, 200]);
    for bytes in [text.as_bytes(), &binary] {
        let mut reader = Reader::new(bytes);
        let read = reader.header().unwrap();
        let (mut row, mut items) = (Vec::new(), vec![1.0]);
        reader
            .row_with_lists(read.format, &read.elements[0], &mut row, &mut items)
            .unwrap();
        assert_eq!(
            (&row[..], &items[..]),
            (&[3.0, 0.5, 1.0][..], &[7.0, 8.0, -9.0, 200.0][..])
        );
        assert_eq!(reader.offset(), bytes.len() as u64);
    }
    let mut reader =
        Reader::new(&b"ply\nformat ascii 1.0\nelement a 1\nproperty list int int b\nend_header\n3 1 2\n"[..]);
    let read = reader.header().unwrap();
    let e = reader.row_with_lists(read.format, &read.elements[0], &mut Vec::new(), &mut Vec::new());
    assert_eq!(e.unwrap_err().to_string(), "line 6: no value for b");
}

#[test]
fn long_lists_are_cut() {
    let long = MAX_LIST_ITEMS as u32 + 5;
    let element = Element::new("face", 1).with_list(Scalar::U32, Scalar::U8, "ids");
    let bytes = [&long.to_le_bytes()[..], &vec![3; long as usize]].concat();
    let mut reader = Reader::new(&bytes[..]);
    let (mut row, mut items) = (Vec::new(), Vec::new());
    reader
        .row_with_lists(Format::LittleEndian, &element, &mut row, &mut items)
        .unwrap();
    assert_eq!((row[0], items.len() as u64), (f64::from(long), MAX_LIST_ITEMS));
    assert_eq!(reader.offset(), bytes.len() as u64);
}

#[test]
fn rows_of_text_name_their_line() {
    let header = header(Format::Ascii, 1, Scalar::F32, &["x", "y"]);
    for (row, wanted) in [
        ("1 two\n", "line 7: \"two\" for y"),
        ("1\n", "line 7: no value for y"),
        ("", "line 7: the end of the file"),
        (&"1 ".repeat(1 << 16), "line 7: an endless line"),
    ] {
        let text = format!("{header}{row}");
        let mut reader = Reader::new(text.as_bytes());
        let read = reader.header().unwrap();
        let e = reader.row(read.format, &read.elements[0], &mut Vec::new()).unwrap_err();
        assert_eq!(e.to_string(), wanted);
    }
}

#[test]
fn rows_without_bytes_are_not_counted() {
    let nothing = header(Format::LittleEndian, u64::MAX, Scalar::F32, &[]);
    let mut reader = Reader::new(&[][..]);
    reader.pass_over(nothing.format, &nothing.elements[0]).unwrap();
    assert!(reader.pass_over(Format::Ascii, &nothing.elements[0]).is_err());
}

#[test]
fn damage_never_panics() {
    let mut seed = 1_u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    let whole = [HEADER.as_bytes(), &[1; 40]].concat();
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        let mut reader = Reader::new(&bytes[..]);
        if let Ok(header) = reader.header() {
            for element in &header.elements {
                if reader.pass_over(header.format, element).is_err() {
                    break;
                }
            }
        }
    }
}
