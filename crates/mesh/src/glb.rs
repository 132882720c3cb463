//! Binary glTF 2.0 files.

mod read;

use std::io::Write;

use crate::wedges::Wedges;
use crate::{Error, Mesh, mesh::bounds};

pub use read::{Read, read, read_from};

/// Bytes of the file's header, and of that of a chunk.
const FILE_HEADER_BYTES: u64 = 12;
const CHUNK_HEADER_BYTES: u64 = 8;
/// Component types and buffer targets (glTF 2.0, 5.1.3 and 5.11.5).
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const FLOAT: u32 = 5126;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// A picture over the surface.
#[derive(Clone, Copy, Debug)]
pub struct Texture<'a> {
    /// Bytes of a PNG file.
    pub png: &'a [u8],
}

/// Writes a mesh as one GLB file: positions, normals where there are any, indices as u32, and a material that is drawn
/// without lights (`KHR_materials_unlit`) in the colours of the picture or of the vertices.
///
/// With a texture the mesh needs texture coordinates; vertices are repeated where these differ. Without, vertex colours are
/// written as the format wants them, linear, in 16 bits. The node moves the mesh to its origin.
///
/// # Errors
/// [`Error::Empty`] without triangles, and for a texture without coordinates; [`Error::TooMany`] from 4 GiB on;
/// [`Error::Io`].
pub fn write(mesh: &Mesh, texture: Option<Texture<'_>>, out: &mut dyn Write) -> Result<(), Error> {
    let empty = |needs| Error::Empty {
        job: "a GLB file",
        needs,
    };
    if texture.is_some() && mesh.uvs.is_none() {
        return Err(empty("texture coordinates"));
    }
    let bare;
    let mesh = match (texture, &mesh.uvs) {
        // Coordinates without a picture would only repeat vertices.
        (None, Some(_)) => {
            bare = Mesh {
                uvs: None,
                ..mesh.clone()
            };
            &bare
        }
        _ => mesh,
    };
    let [low, high] = bounds(&mesh.positions)
        .filter(|_| !mesh.triangles.is_empty())
        .ok_or(empty("triangles"))?;
    let wedges = Wedges::new(mesh);
    let layout = Layout::new(mesh, &wedges, texture, [low, high]);
    let mut json = layout.json(texture.is_some(), mesh.origin).into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let total = file_bytes(json.len() as u64, layout.bytes)?;
    out.write_all(b"glTF")?;
    for word in [2, total, json.len() as u32] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(b"JSON")?;
    out.write_all(&json)?;
    out.write_all(&(layout.bytes as u32).to_le_bytes())?;
    out.write_all(b"BIN\0")?;
    let vectors = |values: &[[f32; 3]], out: &mut dyn Write| {
        wedges
            .vertices
            .iter()
            .try_for_each(|&vertex| out.write_all(&values[vertex as usize].map(f32::to_le_bytes).concat()))
    };
    vectors(&mesh.positions, out)?;
    if let Some(normals) = &mesh.normals {
        // Normals of a file have length 1, also where there is nothing to see.
        let unit_length = |normal: &[f32; 3]| if *normal == [0.0; 3] { [0.0, 0.0, 1.0] } else { *normal };
        let normals: Vec<[f32; 3]> = normals.iter().map(unit_length).collect();
        vectors(&normals, out)?;
    }
    for uv in &wedges.uvs {
        out.write_all(&uv.map(f32::to_le_bytes).concat())?;
    }
    if let (Some(colors), None) = (&mesh.colors, texture) {
        for &vertex in &wedges.vertices {
            let [r, g, b] = colors[vertex as usize].map(|x| (linear(x) * 65535.0).round() as u16);
            out.write_all(&[r, g, b, u16::MAX].map(u16::to_le_bytes).concat())?;
        }
    }
    for corners in &wedges.of_corner {
        out.write_all(&corners.map(u32::to_le_bytes).concat())?;
    }
    if let Some(Texture { png }) = texture {
        out.write_all(png)?;
        out.write_all(&[0; 3][..png.len().next_multiple_of(4) - png.len()])?;
    }
    Ok(())
}

/// Bytes of a file with chunks of these lengths.
fn file_bytes(json: u64, binary: u64) -> Result<u32, Error> {
    let total = FILE_HEADER_BYTES + 2 * CHUNK_HEADER_BYTES + json + binary;
    u32::try_from(total).map_err(|_| Error::TooMany {
        what: "bytes of a GLB file",
        found: total,
        most: u32::MAX.into(),
        hint: "decimate the mesh, or write PLY",
    })
}

/// A share of full light from its sRGB code (IEC 61966-2-1), both 0 to 1.
fn linear(code: f32) -> f32 {
    let code = code.clamp(0.0, 1.0);
    match code <= 0.04045 {
        true => code / 12.92,
        false => (f64::from(code + 0.055) / 1.055).powf(2.4) as f32,
    }
}

/// What the binary chunk holds, one view per attribute.
struct Layout {
    views: Vec<String>,
    accessors: Vec<String>,
    attributes: Vec<String>,
    bytes: u64,
}

impl Layout {
    fn new(mesh: &Mesh, wedges: &Wedges, texture: Option<Texture<'_>>, [low, high]: [[f32; 3]; 2]) -> Self {
        let mut layout = Self {
            views: Vec::new(),
            accessors: Vec::new(),
            attributes: Vec::new(),
            bytes: 0,
        };
        let count = wedges.vertices.len() as u64;
        let array = Some(ARRAY_BUFFER);
        let box_ = format!(r#","min":{low:?},"max":{high:?}"#);
        layout.attribute("POSITION", count, 12, array, (FLOAT, "VEC3", &box_));
        if mesh.normals.is_some() {
            layout.attribute("NORMAL", count, 12, array, (FLOAT, "VEC3", ""));
        }
        if texture.is_some() {
            layout.attribute("TEXCOORD_0", count, 8, array, (FLOAT, "VEC2", ""));
        } else if mesh.colors.is_some() {
            let kind = (UNSIGNED_SHORT, "VEC4", r#","normalized":true"#);
            layout.attribute("COLOR_0", count, 8, array, kind);
        }
        let indices = 3 * wedges.of_corner.len() as u64;
        layout.accessor(indices, 4, Some(ELEMENT_ARRAY_BUFFER), (UNSIGNED_INT, "SCALAR", ""));
        if let Some(Texture { png }) = texture {
            layout.view(png.len() as u64, None);
        }
        layout
    }

    /// Adds a view, padded to four bytes.
    fn view(&mut self, bytes: u64, target: Option<u32>) {
        let target = target.map_or(String::new(), |target| format!(r#","target":{target}"#));
        let offset = self.bytes;
        self.views.push(format!(
            r#"{{"buffer":0,"byteOffset":{offset},"byteLength":{bytes}{target}}}"#
        ));
        self.bytes += bytes.next_multiple_of(4);
    }

    /// Adds an accessor with a view of its own.
    fn accessor(&mut self, count: u64, stride: u64, target: Option<u32>, (component, kind, more): (u32, &str, &str)) {
        let view = self.views.len();
        self.accessors.push(format!(
            r#"{{"bufferView":{view},"componentType":{component},"count":{count},"type":"{kind}"{more}}}"#
        ));
        self.view(count * stride, target);
    }

    fn attribute(&mut self, name: &str, count: u64, stride: u64, target: Option<u32>, kind: (u32, &str, &str)) {
        self.attributes.push(format!(r#""{name}":{}"#, self.accessors.len()));
        self.accessor(count, stride, target, kind);
    }

    fn json(&self, textured: bool, origin: [f64; 3]) -> String {
        let (views, accessors) = (self.views.join(","), self.accessors.join(","));
        let (attributes, indices) = (self.attributes.join(","), self.attributes.len());
        let image = self.views.len() - 1;
        let (base_color, pictures) = match textured {
            true => (
                r#""baseColorTexture":{"index":0},"#,
                format!(
                    r#""textures":[{{"sampler":0,"source":0}}],"images":[{{"bufferView":{image},"mimeType":"image/png"}}],"samplers":[{{"magFilter":9729,"minFilter":9729,"wrapS":33071,"wrapT":33071}}],"#
                ),
            ),
            false => ("", String::new()),
        };
        let [x, y, z] = origin;
        let place = match origin == [0.0; 3] {
            true => String::new(),
            false => format!(r#","translation":[{x},{y},{z}]"#),
        };
        format!(
            r#"{{"asset":{{"version":"2.0","generator":"Kiln"}},"extensionsUsed":["KHR_materials_unlit"],"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0{place}}}],"meshes":[{{"primitives":[{{"attributes":{{{attributes}}},"indices":{indices},"material":0}}]}}],"materials":[{{"pbrMetallicRoughness":{{{base_color}"metallicFactor":0,"roughnessFactor":1}},"doubleSided":true,"extensions":{{"KHR_materials_unlit":{{}}}}}}],{pictures}"buffers":[{{"byteLength":{}}}],"bufferViews":[{views}],"accessors":[{accessors}]}}"#,
            self.bytes
        )
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    fn written(mesh: &Mesh, texture: Option<Texture<'_>>) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(mesh, texture, &mut bytes).unwrap();
        assert_eq!(
            u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize,
            bytes.len()
        );
        bytes
    }

    #[test]
    fn a_foreign_reader_finds_the_picture_and_every_corner() {
        let sphere = shapes::sphere(6, 1.5).with_own_normals();
        let uv = |t: usize, vertex: u32| [vertex as f32 / 128.0, (t % 2) as f32];
        let uvs = sphere
            .triangles()
            .iter()
            .enumerate()
            .map(|(t, c)| c.map(|vertex| uv(t, vertex)))
            .collect();
        let mesh = sphere.with_uvs(uvs).unwrap();
        let png = b"\x89PNG\r\n\x1a\nnot a whole one";
        let bytes = written(&mesh, Some(Texture { png }));
        let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).unwrap();
        let blob = blob.unwrap();
        let primitive = document.meshes().next().unwrap().primitives().next().unwrap();
        let reader = primitive.reader(|_| Some(&blob));
        let positions: Vec<[f32; 3]> = reader.read_positions().unwrap().collect();
        let normals: Vec<[f32; 3]> = reader.read_normals().unwrap().collect();
        let found: Vec<[f32; 2]> = reader.read_tex_coords(0).unwrap().into_f32().collect();
        let indices: Vec<u32> = reader.read_indices().unwrap().into_u32().collect();
        assert_eq!(indices.len(), 3 * mesh.triangles().len());
        assert!(positions.len() > mesh.positions().len() && positions.len() < indices.len());
        for (corner, index) in indices.into_iter().map(|index| index as usize).enumerate() {
            let vertex = mesh.triangles()[corner / 3][corner % 3] as usize;
            assert_eq!(
                (positions[index], normals[index]),
                (mesh.positions()[vertex], mesh.normals().unwrap()[vertex])
            );
            assert_eq!(found[index], mesh.uvs().unwrap()[corner / 3][corner % 3]);
        }
        let material = primitive.material();
        assert!(material.unlit() && material.double_sided());
        let texture = material
            .pbr_metallic_roughness()
            .base_color_texture()
            .unwrap()
            .texture();
        let gltf::image::Source::View { view, mime_type } = texture.source().source() else {
            unreachable!("the picture is inside")
        };
        assert_eq!(
            (mime_type, &blob[view.offset()..][..view.length()]),
            ("image/png", &png[..])
        );
    }

    #[test]
    fn vertex_colors_become_linear() {
        let square = shapes::square(1);
        let colors = vec![[0.0, 0.5, 1.0], [0.02, 0.5, 2.0], [-1.0, 0.5, 1.0], [1.0; 3]];
        let mesh = square.clone().with_colors(colors).unwrap();
        let uvs = vec![[[0.0; 2]; 3]; 2];
        let bytes = written(&mesh.clone().with_uvs(uvs).unwrap(), None);
        assert_eq!(bytes, written(&mesh, None), "coordinates need a picture");
        let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).unwrap();
        let blob = blob.unwrap();
        let primitive = document.meshes().next().unwrap().primitives().next().unwrap();
        let reader = primitive.reader(|_| Some(&blob));
        let colors: Vec<[f32; 3]> = reader.read_colors(0).unwrap().into_rgb_f32().collect();
        for (found, wanted) in colors.iter().zip([
            [0.0, 0.214_04, 1.0],
            [0.001_548, 0.214_04, 1.0],
            [0.0, 0.214_04, 1.0],
            [1.0; 3],
        ]) {
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 2e-5), "{found:?}");
        }
        let plain = written(&square, None);
        assert!(gltf::Gltf::from_slice(&plain).is_ok());
        assert!(plain.len() < bytes.len());
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let lone = Mesh::new(vec![[1.0; 3]; 3], vec![[0, 1, 2]])
            .unwrap()
            .with_own_normals();
        let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&written(&lone, None)).unwrap();
        let blob = blob.unwrap();
        let primitive = document.meshes().next().unwrap().primitives().next().unwrap();
        let mut normals = primitive.reader(|_| Some(&blob)).read_normals().unwrap();
        assert!(normals.all(|normal| normal == [0.0, 0.0, 1.0]));
        let texture = Some(Texture { png: &[] });
        let said = |mesh: &Mesh| write(mesh, texture, &mut Vec::new()).unwrap_err().to_string();
        assert!(said(&shapes::square(1)).contains("texture coordinates"));
        assert!(
            write(&Mesh::default(), None, &mut Vec::new())
                .unwrap_err()
                .to_string()
                .contains("triangles")
        );
        let points = Mesh::new(vec![[0.0; 3]], vec![]).unwrap();
        assert!(write(&points, None, &mut Vec::new()).is_err());
        assert_eq!(file_bytes(100, u64::from(u32::MAX) - 128).unwrap(), u32::MAX);
        let e = file_bytes(100, u64::from(u32::MAX) - 127).unwrap_err();
        assert!(e.to_string().starts_with("4294967296 bytes of a GLB file"), "{e}");
    }
}
