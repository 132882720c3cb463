//! Files read back, files of others, damaged files.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::random::Random;
use crate::{Error, Mesh, shapes};

fn written(mesh: &Mesh) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(mesh, &["two\nlines".to_owned()], &mut bytes).unwrap();
    bytes
}

fn colored(mesh: Mesh) -> Mesh {
    let colors = (0..mesh.positions().len())
        .map(|v| [v % 256, v % 7 * 30, 255].map(|x| x as f32 / 255.0))
        .collect();
    mesh.with_colors(colors).unwrap()
}

#[test]
fn meshes_are_read_back_to_the_bit() {
    let sphere = shapes::sphere(9, 1.5);
    for mesh in [
        sphere.clone(),
        sphere.clone().with_own_normals(),
        colored(sphere.clone()),
        colored(sphere.with_own_normals()),
        Mesh::default(),
    ] {
        let bytes = written(&mesh);
        assert!(bytes.starts_with(b"ply\nformat binary_little_endian 1.0\ncomment two lines\n"));
        assert_eq!(read(&bytes[..]).unwrap(), mesh);
    }
}

#[test]
fn text_polygons_and_other_elements_are_read() {
    let text = "ply\nformat ascii 1.0\nelement camera 1\nproperty float f\nelement vertex 5\nproperty double z\n\
        property double y\nproperty double x\nproperty float red\nproperty float green\nproperty float blue\n\
        element face 2\nproperty list uchar float quality\nproperty list uchar uint vertex_index\nproperty int id\n\
        end_header\n9\n0 0 0 0 .5 1\n0 0 1 0 .5 1\n0 1 1 0 .5 1\n0 1 0 0 .5 1\n1 2 3 0 .5 1\n\
        2 0.5 0.5 4 0 1 2 3 7\n0 3 1 2 4 8\n";
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!(
        (mesh.positions()[4], mesh.colors().unwrap()[0]),
        ([3.0, 2.0, 1.0], [0.0, 0.5, 1.0])
    );
    assert_eq!(mesh.triangles().len(), 3);
    assert_eq!(mesh.triangles()[2], [1, 2, 4]);
    assert!((mesh.area() - 1.0 - mesh.triangle_area([1, 2, 4])).abs() < 1e-9);
    let big = "ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty short x\nproperty short y\nproperty short z\n\
        property ushort red\nproperty ushort green\nproperty ushort blue\nelement face 1\n\
        property list int short vertex_indices\nend_header\n";
    let rows: [i16; 18] = [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, -1, 0, 3, 0, 0, 0, 0];
    let mut bytes = big.as_bytes().to_vec();
    bytes.extend(rows.iter().flat_map(|x| x.to_be_bytes()));
    bytes.extend([0, 0, 0, 3, 0, 0, 0, 1, 0, 2]);
    let mesh = read(&bytes[..]).unwrap();
    assert_eq!((mesh.area(), mesh.colors().unwrap()[1][2]), (3.0, 1.0));
}

#[test]
fn what_is_wrong_is_said() {
    let vertex = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
    let face = "element face 1\nproperty list uchar int vertex_indices\n";
    let rows = "0 0 0\n1 0 0\n0 1 0\n";
    for (header, rows, wanted) in [
        (
            "element face 0\n".to_owned(),
            String::new(),
            "faces come before the vertices",
        ),
        (String::new(), String::new(), "no element vertex"),
        (
            "element vertex 0\nproperty float x\n".to_owned(),
            String::new(),
            "without x, y and z",
        ),
        (
            format!("{vertex}element face 1\nproperty int a\n"),
            format!("{rows}1\n"),
            "without the list",
        ),
        (
            format!("{vertex}element tristrips 1\nproperty list int int vertex_indices\n"),
            rows.to_owned(),
            "as strips",
        ),
        (
            format!("{vertex}{face}"),
            format!("{rows}2 0 1\n"),
            "face 0 has 2 vertices",
        ),
        (
            format!("{vertex}{face}"),
            format!("{rows}3 0 1 3\n"),
            "names vertex 3, and there are 3",
        ),
        (
            format!("{vertex}{face}"),
            format!("{rows}3 0 1 -1\n"),
            "names vertex -1",
        ),
        (
            format!("{vertex}{face}"),
            format!("{rows}3 0 1\n"),
            "line 13: no value for vertex_indices",
        ),
        (
            vertex.to_owned(),
            "0 0 0\n1 nan 0\n0 1 0\n".to_owned(),
            "position 1 is not finite",
        ),
        (vertex.to_owned(), "0 0 0\n1 0\n".to_owned(), "no value for z"),
    ] {
        let text = format!("ply\nformat ascii 1.0\n{header}end_header\n{rows}");
        let e = read(text.as_bytes()).unwrap_err().to_string();
        assert!(e.contains(wanted), "{e} is not {wanted}");
    }
    let points = read(format!("ply\nformat ascii 1.0\n{vertex}end_header\n{rows}").as_bytes()).unwrap();
    assert_eq!((points.positions().len(), points.triangles().len()), (3, 0));
}

#[test]
fn damage_never_panics_and_takes_no_memory() {
    let whole = written(&colored(shapes::sphere(4, 1.0).with_own_normals()));
    let random = Random::new(9);
    let mut counter = 0;
    let mut below = |n: usize| {
        counter += 1;
        (random.bits(counter) % n as u64) as usize
    };
    for _ in 0..4000 {
        let mut bytes = whole.clone();
        for _ in 0..=below(4) {
            let at = below(bytes.len());
            bytes[at] = below(256) as u8;
        }
        bytes.truncate(below(bytes.len() + 1).max(bytes.len() / 2));
        let _ = read(&bytes[..]);
    }
    let huge = "ply\nformat binary_little_endian 1.0\nelement vertex 99999999999999\nproperty float x\nproperty float y\n\
        property float z\nend_header\n";
    assert!(matches!(read(huge.as_bytes()), Err(Error::Ply(_))));
}

#[test]
fn values_of_vertices_come_back_and_harm_nobody() {
    let mesh = shapes::sphere(3, 1.0).with_own_normals();
    let n = mesh.positions().len();
    let mesh = mesh.with_colors(vec![[0.2, 0.4, 0.6]; n]).unwrap();
    let more = Values {
        names: ["weight", "f_dc_0"].map(str::to_owned).to_vec(),
        values: (0..2 * n).map(|i| i as f32 * 0.37 - 1.0).collect(),
        comments: vec!["kiln opacity_floor 0.5".to_owned()],
    };
    let mut bytes = Vec::new();
    write_with(&mesh, &more, &mut bytes).unwrap();
    let (back, found) = read_with(&bytes[..], |name| name == "f_dc_0" || name == "weight", None).unwrap();
    assert_eq!(
        (back.positions(), back.triangles()),
        (mesh.positions(), mesh.triangles())
    );
    assert_eq!(found, more);
    let (_, one) = read_with(&bytes[..], |name| name.starts_with("f_"), None).unwrap();
    let wanted: Vec<f32> = more.values.iter().copied().skip(1).step_by(2).collect();
    assert_eq!((&one.names[..], one.values), (&more.names[1..], wanted));
    assert_eq!(read(&bytes[..]).unwrap(), back);
    let short = Values {
        values: vec![0.0; 3],
        ..more.clone()
    };
    assert!(write_with(&mesh, &short, &mut Vec::new()).is_err());
    let mut odd = more;
    odd.values[5] = f32::NAN;
    let mut bytes = Vec::new();
    write_with(&mesh, &odd, &mut bytes).unwrap();
    let error = read_with(&bytes[..], |name| name == "f_dc_0", None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("value of vertex 2 is not finite"), "{error}");
}
