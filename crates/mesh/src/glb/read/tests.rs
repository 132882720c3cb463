#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::file::MOST_JSON;
use super::*;
use crate::glb::{Texture, write};
use crate::shapes;

fn written(mesh: &Mesh, texture: Option<Texture<'_>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(mesh, texture, &mut bytes).unwrap();
    bytes
}

/// A file of this description and these numbers.
fn with_numbers(json: &str, binary: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let words = |out: &mut Vec<u8>, words: &[u32]| out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    let mut out = b"glTF".to_vec();
    words(&mut out, &[2, 0, json.len() as u32]);
    out.extend(b"JSON");
    out.extend(&json);
    words(&mut out, &[binary.len() as u32]);
    out.extend(b"BIN\0");
    out.extend(binary);
    out
}

#[test]
fn what_was_written_is_read() {
    let sphere = shapes::sphere(6, 1.5).with_own_normals();
    let plain = read(&written(&sphere, None)).unwrap();
    assert_eq!(
        (plain.mesh.positions(), plain.mesh.triangles()),
        (sphere.positions(), sphere.triangles())
    );
    assert_eq!(plain.picture, None);
    let colors: Vec<[f32; 3]> = sphere.positions().iter().map(|p| p.map(|x| 0.5 + 0.3 * x)).collect();
    let colored = sphere.clone().with_colors(colors.clone()).unwrap();
    let back = read(&written(&colored, None)).unwrap().mesh;
    for (a, b) in back.colors().unwrap().as_flattened().iter().zip(colors.as_flattened()) {
        assert!((a - b.clamp(0.0, 1.0)).abs() < 5e-4, "{a} {b}");
    }
    let uvs = vec![[[0.0, 0.25], [1.0, 0.5], [0.125, 1.0]]; sphere.triangles().len()];
    let mapped = sphere.with_uvs(uvs.clone()).unwrap();
    let png = b"\x89PNG and so on";
    let back = read(&written(&mapped, Some(Texture { png }))).unwrap();
    assert_eq!(back.mesh.uvs().unwrap(), uvs);
    assert_eq!(back.picture.unwrap(), png);
}

#[test]
fn nodes_place_turn_and_mirror() {
    let numbers: Vec<u8> = [[0.0_f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        .concat()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let json = |nodes: &str| {
        format!(
            r#"{{"scenes":[{{"nodes":[0]}}],"nodes":[{nodes}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}},
            {{"mode":0,"attributes":{{"POSITION":0}}}}]}}],"accessors":[{{"bufferView":0,"componentType":5126,"count":3,
            "type":"VEC3"}}],"bufferViews":[{{"buffer":0,"byteLength":36}}],"buffers":[{{"byteLength":36}}]}}"#
        )
    };
    let mesh = |nodes: &str| read(&with_numbers(&json(nodes), &numbers)).map(|read| read.mesh);
    // A quarter turn about z inside a step and a stretch.
    let turned = r#"{"translation":[0,0,5],"scale":[2,2,2],"children":[1]},
        {"rotation":[0,0,0.70710678118654752,0.70710678118654752],"mesh":0}"#;
    let found = mesh(turned).unwrap();
    for (a, b) in found
        .positions()
        .iter()
        .zip([[0.0, 0.0, 5.0], [0.0, 2.0, 5.0], [-2.0, 0.0, 5.0]])
    {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?}");
    }
    assert_eq!(found.triangles(), [[0, 1, 2]]);
    let mirrored = r#"{"matrix":[-1,0,0,0,0,1,0,0,0,0,1,0,3,0,0,1],"mesh":0}"#;
    let found = mesh(mirrored).unwrap();
    assert_eq!(
        (found.positions()[1], found.triangles()),
        ([2.0, 0.0, 0.0], &[[0, 2, 1]][..])
    );
    // Children that are their own parents, or those of two.
    let chain: Vec<String> = (1..=40)
        .map(|next| format!(r#"{{"children":[{next},{next}]}}"#))
        .collect();
    for nodes in [r#"{"children":[0]}"#.to_owned(), chain.join(",") + ",{}"] {
        let said = mesh(&nodes).unwrap_err().to_string();
        assert!(said.contains("lies in two nodes"), "{said}");
    }
    let deep: Vec<String> = (1..=70).map(|next| format!(r#"{{"children":[{next}]}}"#)).collect();
    let said = mesh(&(deep.join(",") + ",{}")).unwrap_err().to_string();
    assert!(said.contains("too deep"), "{said}");
}

#[test]
fn shared_meshes_are_repeated_as_often_as_the_file_is_long() {
    let numbers = vec![0; 12 * 3000];
    let instances = |nodes: usize| {
        let all: Vec<String> = (0..nodes).map(|node| node.to_string()).collect();
        let each = vec![r#"{"mesh":0}"#; nodes].join(",");
        let all = all.join(",");
        let json = format!(
            r#"{{"scenes":[{{"nodes":[{all}]}}],"nodes":[{each}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"count":3000,"type":"VEC3"}}],
            "bufferViews":[{{"buffer":0,"byteLength":36000}}],"buffers":[{{"byteLength":36000}}]}}"#
        );
        with_numbers(&json, &numbers)
    };
    assert_eq!(read(&instances(100)).unwrap().mesh.positions().len(), 300_000);
    let said = read(&instances(1000)).unwrap_err().to_string();
    assert!(said.contains("without instances"), "{said}");
    // Primitives that give nothing take time.
    let each = vec![r#"{"mesh":0}"#; 1000].join(",");
    let all: Vec<String> = (0..1000).map(|node| node.to_string()).collect();
    let points = vec![r#"{"mode":0}"#; 300].join(",");
    let all = all.join(",");
    let json = format!(r#"{{"scenes":[{{"nodes":[{all}]}}],"nodes":[{each}],"meshes":[{{"primitives":[{points}]}}]}}"#);
    let said = read(&with_numbers(&json, &[])).unwrap_err().to_string();
    assert!(said.contains("without instances"), "{said}");
}

#[test]
fn damage_is_named_and_never_believed() {
    let whole = written(&shapes::sphere(4, 1.0).with_own_normals(), None);
    for cut in (0..whole.len()).step_by(7) {
        read(&whole[..cut]).unwrap_err();
    }
    let said = |json: &str| read(&with_numbers(json, &[0; 36])).unwrap_err().to_string();
    let json = |accessor: &str, view: &str| {
        format!(
            r#"{{"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
            "accessors":[{accessor}],"bufferViews":[{view}],"buffers":[{{"byteLength":36}}]}}"#
        )
    };
    let accessor = |count: &str| format!(r#"{{"bufferView":0,"componentType":5126,"count":{count},"type":"VEC3"}}"#);
    let view = r#"{"buffer":0,"byteLength":36}"#;
    assert!(said(&json(&accessor("4"), view)).contains("beyond its buffer view"));
    assert!(said(&json(&accessor("18446744073709551615"), view)).contains("beyond its buffer view"));
    assert!(said(&json(&accessor("3"), r#"{"buffer":0,"byteLength":37}"#)).contains("beyond its end"));
    assert!(said(&json(&accessor("3"), r#"{"buffer":1,"byteLength":36}"#)).contains("no entry 1"));
    assert!(said(&json(&accessor("3").replace("VEC3", "MAT4"), view)).contains("not of the kind"));
    assert!(said("{").contains("description"));
    assert!(said(&" ".repeat(MOST_JSON + 4)).contains("at most 8388608 are read"));
    assert!(said(r#"{"extensionsRequired":["KHR_draco_mesh_compression"]}"#).contains("KHR_draco"));
    assert!(read(b"ply\n").unwrap_err().to_string().contains("does not begin"));
}
