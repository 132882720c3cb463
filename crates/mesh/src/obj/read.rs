//! Reading.

use std::borrow::Cow;
use std::io::{BufRead, Read as _};
use std::str::{FromStr, SplitAsciiWhitespace};

use kiln_ply::origin_of;

use crate::polygon::triangulate;
use crate::vector::{V3, add, narrow, unit, wide};
use crate::{Error, Mesh};

const FORMAT: &str = "OBJ";
/// Longest line, bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Most characters of a bad word that are repeated.
const SHOWN: usize = 40;

/// Reads a mesh: `v` with or without colours, `vt`, `vn`, and `f` with indices from either end and any number of vertices
/// (cut into triangles). Groups, materials, lines and curves are passed over.
///
/// A vertex has the mean of the normals that its corners name. Colours and texture coordinates count when every vertex,
/// or every corner, has them.
///
/// # Errors
/// [`Error::Line`], [`Error::Io`], and what [`Mesh`] refuses.
pub fn read(input: impl BufRead) -> Result<Mesh, Error> {
    lines(input, None)
}

/// [`read()`] of a mesh whose positions are wanted relative to `origin`: they are those of a data set, or relative to what a comment
/// `# origin X Y Z` before them says.
///
/// # Errors
/// Those of [`read()`].
pub fn read_from(input: impl BufRead, origin: [f64; 3]) -> Result<Mesh, Error> {
    lines(input, Some(origin))
}

fn lines(mut input: impl BufRead, from: Option<[f64; 3]>) -> Result<Mesh, Error> {
    let mut file = File {
        from,
        ..File::default()
    };
    let mut raw = Vec::new();
    for line in 1_u64.. {
        raw.clear();
        let read = (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut raw)? as u64;
        if read == 0 {
            break;
        }
        let taken = match read == MAX_LINE_BYTES && raw.last() != Some(&b'\n') {
            true => Err("an endless line".to_owned()),
            false => file.line(&text(&raw, line == 1)),
        };
        taken.map_err(|found| Error::Line {
            format: FORMAT,
            line,
            found,
        })?;
    }
    file.mesh()
}

/// A line as text: UTF-8, or Latin-1 where it is none. Editors put a byte order mark before the first.
pub(super) fn text(raw: &[u8], is_first: bool) -> Cow<'_, str> {
    let raw = match is_first {
        true => raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw),
        false => raw,
    };
    match std::str::from_utf8(raw) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(raw.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// A corner of a face: position, texture coordinates and normal, from 0.
type Corner = (u32, Option<u32>, Option<u32>);

#[derive(Default)]
struct File {
    /// What the file's positions are relative to.
    own: [f64; 3],
    /// What they are wanted relative to.
    from: Option<[f64; 3]>,
    positions: Vec<[f32; 3]>,
    colors: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    normals: Vec<[f32; 3]>,
    triangles: Vec<[Corner; 3]>,
    polygon: Vec<Corner>,
}

impl File {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (line, comment) = line.split_once('#').unwrap_or((line, ""));
        if self.positions.is_empty()
            && let Some(origin) = origin_of(&[comment.trim().to_owned()])
        {
            self.own = origin;
        }
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let mut rest: Vec<f64> = Vec::with_capacity(6);
                for word in words.by_ref() {
                    rest.push(number(Some(word), "v")?);
                }
                let (&[x, y, z], rest) = rest.split_first_chunk().ok_or("fewer than three numbers for v")?;
                let origin = self.from.unwrap_or(self.own);
                let step = |axis: usize, value: f64| (value + (self.own[axis] - origin[axis])) as f32;
                self.positions.push([step(0, x), step(1, y), step(2, z)]);
                // Three more are a colour; one more is a weight of curves.
                if let &[r, g, b] = rest {
                    self.colors.push([r, g, b].map(|value| value as f32));
                }
            }
            Some("vt") => {
                let u: f32 = number(words.next(), "vt")?;
                let v = words.next().map_or(Ok(0.0), |word| number(Some(word), "vt"))?;
                self.uvs.push([u, 1.0 - v]);
            }
            Some("vn") => {
                let mut next = || number(words.next(), "vn");
                self.normals.push([next()?, next()?, next()?]);
            }
            Some("f") => self.face(words)?,
            _ => {}
        }
        Ok(())
    }

    fn face(&mut self, words: SplitAsciiWhitespace<'_>) -> Result<(), String> {
        self.polygon.clear();
        for word in words {
            let mut parts = word.split('/');
            let mut next = |count: usize, what: &str| match parts.next() {
                None | Some("") => Ok(None),
                Some(part) => index(part, count, what).map(Some),
            };
            let position = next(self.positions.len(), "v")?;
            let corner = (next(self.uvs.len(), "vt")?, next(self.normals.len(), "vn")?);
            let position = position.ok_or_else(|| format!("{} names no v", shown(word)))?;
            self.polygon.push((position, corner.0, corner.1));
        }
        if self.polygon.len() < 3 {
            return Err(format!("a face of {} vertices", self.polygon.len()));
        }
        let corners: Vec<V3> = self
            .polygon
            .iter()
            .map(|c| wide(self.positions[c.0 as usize]))
            .collect();
        let triangles = triangulate(&corners).into_iter();
        self.triangles.extend(triangles.map(|t| t.map(|i| self.polygon[i])));
        Ok(())
    }

    fn mesh(self) -> Result<Mesh, Error> {
        let vertices = self.positions.len();
        let origin = self.from.unwrap_or(self.own);
        let mesh =
            Mesh::new(self.positions, self.triangles.iter().map(|t| t.map(|c| c.0)).collect())?.with_origin(origin);
        let mesh = match vertices > 0 && self.colors.len() == vertices {
            true => mesh.with_colors(self.colors)?,
            false => mesh,
        };
        let corners = self.triangles.as_flattened();
        let mesh = match !corners.is_empty() && corners.iter().all(|c| c.1.is_some()) {
            true => {
                let uv = |c: &Corner| c.1.map_or([0.0; 2], |uv| self.uvs[uv as usize]);
                mesh.with_uvs(
                    self.triangles
                        .iter()
                        .map(|t| [uv(&t[0]), uv(&t[1]), uv(&t[2])])
                        .collect(),
                )?
            }
            false => mesh,
        };
        if corners.is_empty() || !corners.iter().all(|c| c.2.is_some()) {
            return Ok(mesh);
        }
        crate::mesh::finite("normal", &self.normals)?;
        let mut sums = vec![[0.0; 3]; vertices];
        let mut last = vec![u32::MAX; vertices];
        for &(vertex, _, normal) in corners {
            let (vertex, normal) = (vertex as usize, normal.unwrap_or_default());
            // Mostly all corners of a vertex name the same one, which then stays to the bit.
            if last[vertex] != normal {
                last[vertex] = normal;
                sums[vertex] = add(sums[vertex], wide(self.normals[normal as usize]));
            }
        }
        let unit_length = |sum: V3| {
            let is_unit = (crate::vector::dot(sum, sum) - 1.0).abs() < 1e-6;
            narrow(if is_unit { sum } else { unit(sum).unwrap_or_default() })
        };
        mesh.with_normals(sums.into_iter().map(unit_length).collect())
    }
}

fn shown(word: &str) -> String {
    format!("{:?}", word.chars().take(SHOWN).collect::<String>())
}

fn number<T: FromStr>(word: Option<&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("too few numbers for {what}"))?;
    word.parse()
        .map_err(|_| format!("{} is no number for {what}", shown(word)))
}

/// An index from 0 of one from 1, or from the end.
fn index(word: &str, count: usize, what: &str) -> Result<u32, String> {
    let index: i64 = word.parse().map_err(|_| format!("{} is no index", shown(word)))?;
    let from_zero = if index < 0 { count as i64 + index } else { index - 1 };
    match (0..count as i64).contains(&from_zero) && from_zero < i64::from(u32::MAX) {
        true => Ok(from_zero as u32),
        false => Err(format!("{what} {index} is named, and there are {count} before it")),
    }
}
