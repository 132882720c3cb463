//! The weights file: found, checked against its digest, read and reordered for the device.
//!
//! The container is safetensors: a little-endian u64 header length, a JSON header naming each tensor's type, shape and
//! byte range, then the bytes. Only one file is accepted, by its SHA-256: other weights would give another metric under
//! the same name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::LpipsError;
use super::network::{BLOCKS, CONVS, channels, constants_len};
use kiln_kernels::conv3x3;

/// Name of the file.
pub const FILE_NAME: &str = "lpips_vgg_f16.safetensors";

/// Digest of the file.
pub const SHA256: &str = "626ff44591091db670c4ffe1792f86c9caab36366cdc4b38045418523c3bb36d";

/// Size of the file, bytes; a file of another size is refused before it is read.
const FILE_BYTES: u64 = 29_435_440;

/// The folder of this crate, where builds of a checkout find the file; empty in releases, which name no folder of the machine they were built on.
const BUILT_FROM: &str = env!("KILN_ENGINE_FOLDER");

/// Longest header accepted, bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Result of looking for the weights.
#[derive(Debug)]
pub enum Search {
    /// Found and checked.
    Found(LpipsWeights),
    /// No file anywhere; the text says where it was looked for and what follows.
    Absent(String),
}

/// Weights in the order the kernels read them.
pub struct LpipsWeights {
    /// Packed halves of each convolution, see [`conv3x3::pack`].
    convs: Vec<Vec<u32>>,
    /// Biases, tap weights, shift and scale.
    constants: Vec<f32>,
}

impl std::fmt::Debug for LpipsWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LpipsWeights").finish_non_exhaustive()
    }
}

impl LpipsWeights {
    /// Looks for the file beside the program, in `../share/kiln` as seen from there, where packages put it, in the user's folder for data; builds of a checkout
    /// then look in the source tree: the one the program was built from, the one it lies in, the one it is run from.
    ///
    /// # Errors
    /// [`LpipsError::Weights`] when a file is there but is not the one expected.
    pub fn find() -> Result<Search, LpipsError> {
        let (program, data) = (std::env::current_exe().ok(), kiln_system::data_folder());
        Self::search(&candidates(program.as_deref(), data.as_deref(), BUILT_FROM))
    }

    fn search(candidates: &[PathBuf]) -> Result<Search, LpipsError> {
        if let Some(path) = candidates.iter().find(|path| path.is_file()) {
            return Ok(Search::Found(Self::read(path)?));
        }
        let list: Vec<_> = candidates.iter().map(|p| format!("`{}`", p.display())).collect();
        Ok(Search::Absent(format!(
            "LPIPS is not computed and reported as null: its weights are at none of {}; put {FILE_NAME} there, which is in the release's \
             `kiln-weights-{}.tar.gz`",
            list.join(", "),
            env!("CARGO_PKG_VERSION")
        )))
    }

    /// Reads one file.
    ///
    /// # Errors
    /// [`LpipsError::Weights`] when it cannot be read or is not the one expected.
    pub fn read(path: &Path) -> Result<Self, LpipsError> {
        let refuse = |what: String| LpipsError::Weights {
            path: path.to_path_buf(),
            what,
        };
        let bytes = kiln_files::read_regular(path, FILE_BYTES).map_err(|e| refuse(e.to_string()))?;
        if bytes.len() as u64 != FILE_BYTES {
            return Err(refuse(format!("it has {} bytes, expected {FILE_BYTES}", bytes.len())));
        }
        Self::checked(&bytes).map_err(refuse)
    }

    fn checked(bytes: &[u8]) -> Result<Self, String> {
        let digest: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
        if digest != SHA256 {
            return Err(format!("its SHA-256 is {digest}, expected {SHA256}"));
        }
        Self::parse(bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file = Tensors::parse(bytes)?;
        let mut convs = Vec::with_capacity(CONVS.len());
        let mut constants = Vec::with_capacity(constants_len() as usize);
        for (i, [input, output]) in CONVS.into_iter().enumerate() {
            let halves = file.halves(&format!("conv{i}.weight"), &[output, input, 3, 3])?;
            convs.push(conv3x3::pack(&halves, input, output));
            let bias = file.halves(&format!("conv{i}.bias"), &[output])?;
            constants.extend(bias.into_iter().map(half_to_f32));
        }
        for tap in 0..BLOCKS {
            let linear = file.halves(&format!("lin{tap}.weight"), &[1, channels(tap), 1, 1])?;
            constants.extend(linear.into_iter().map(half_to_f32));
        }
        for name in ["scaling.shift", "scaling.scale"] {
            let data = file.bytes(name, "F32", &[3], 4)?;
            constants.extend(data.chunks_exact(4).map(bytemuck::pod_read_unaligned::<f32>));
        }
        Ok(Self { convs, constants })
    }

    /// Packed weights of convolution `conv`; empty when there is none of that number.
    pub(super) fn conv(&self, conv: usize) -> &[u32] {
        self.convs.get(conv).map_or(&[], Vec::as_slice)
    }

    /// Biases, tap weights, shift and scale.
    pub(super) fn constants(&self) -> &[f32] {
        &self.constants
    }
}

/// Places to look at, best first. `program` is the path of the running program, `data` the user's folder for data; `built_from` is that of a source tree
/// or empty, and then no tree is looked at.
fn candidates(program: Option<&Path>, data: Option<&Path>, built_from: &str) -> Vec<PathBuf> {
    let folder = program.and_then(Path::parent);
    let beside = folder.map(|folder| folder.join(FILE_NAME));
    let shared = folder
        .and_then(Path::parent)
        .map(|prefix| prefix.join("share").join("kiln").join(FILE_NAME));
    let own = data.map(|data| data.join("kiln").join(FILE_NAME));
    let mut list: Vec<PathBuf> = [beside, shared, own].into_iter().flatten().collect();
    if !built_from.is_empty() {
        list.push(Path::new(built_from).join("assets").join(FILE_NAME));
        // A tree that was copied or moved after the build: the program lies in its `target/release`, or is run from its root.
        list.extend(program.and_then(|program| program.ancestors().nth(3)).map(asset));
        list.push(asset(Path::new("")));
    }
    list.dedup();
    list
}

/// The file in a source tree.
fn asset(root: &Path) -> PathBuf {
    root.join("engine/assets").join(FILE_NAME)
}

/// Header entry of one tensor.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u32>,
    data_offsets: [usize; 2],
}

/// Named tensors of a safetensors file.
struct Tensors<'a> {
    entries: BTreeMap<String, Entry>,
    data: &'a [u8],
}

impl<'a> Tensors<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (length, rest) = bytes
            .split_first_chunk::<8>()
            .ok_or("it is shorter than a safetensors header")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_HEADER_BYTES {
            return Err(format!(
                "its header claims {length} bytes, at most {MAX_HEADER_BYTES} are accepted"
            ));
        }
        let (header, data) = rest.split_at_checked(length).ok_or("its header is cut off")?;
        let mut values: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|e| format!("its header is not JSON: {e}"))?;
        values.remove("__metadata__");
        let entries = values
            .into_iter()
            .map(|(name, value)| {
                let entry = serde_json::from_value(value).map_err(|e| format!("entry `{name}`: {e}"))?;
                Ok((name, entry))
            })
            .collect::<Result<_, String>>()?;
        Ok(Self { entries, data })
    }

    fn bytes(&self, name: &str, dtype: &str, shape: &[u32], size: usize) -> Result<&'a [u8], String> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| format!("tensor `{name}` is missing"))?;
        if entry.dtype != dtype || entry.shape != shape {
            let (found, dims) = (&entry.dtype, &entry.shape);
            return Err(format!(
                "tensor `{name}` is {found} {dims:?}, expected {dtype} {shape:?}"
            ));
        }
        let [first, end] = entry.data_offsets;
        let wanted = shape.iter().fold(size, |n, side| n.saturating_mul(*side as usize));
        match self.data.get(first..end) {
            Some(data) if data.len() == wanted => Ok(data),
            _ => Err(format!(
                "tensor `{name}` names bytes {first}..{end}, expected {wanted} bytes inside the file"
            )),
        }
    }

    fn halves(&self, name: &str, shape: &[u32]) -> Result<Vec<u16>, String> {
        let data = self.bytes(name, "F16", shape, 2)?;
        Ok(data.chunks_exact(2).map(bytemuck::pod_read_unaligned).collect())
    }
}

/// Value of an IEEE half. Infinities and NaNs do not occur in the accepted file and come out as large numbers.
#[must_use]
pub fn half_to_f32(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    let sign = u32::from(half & 0x8000) << 16;
    // Moves the exponent's bias from 15 to 127; exact for subnormals too because it is a product.
    let value = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(value.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn halves_of_every_kind() {
        let cases = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2.0f32.powi(-24)),
            (0x8400, -(2.0f32.powi(-14))),
            (0x3555, 0.333_251_95),
        ];
        for (half, value) in cases {
            assert_eq!(half_to_f32(half), value, "{half:04x}");
        }
    }

    #[test]
    fn the_file_is_looked_for_where_packages_put_it_and_may_be_absent() {
        let (program, data) = (Path::new("/tree/target/release/kiln"), Path::new("/home/a/data"));
        let list = candidates(Some(program), Some(data), BUILT_FROM);
        let places: Vec<_> = list
            .iter()
            .map(|path| path.to_string_lossy().replace('\\', "/"))
            .collect();
        assert_eq!(places[0], format!("/tree/target/release/{FILE_NAME}"));
        assert_eq!(places[1], format!("/tree/target/share/kiln/{FILE_NAME}"));
        assert_eq!(places[2], format!("/home/a/data/kiln/{FILE_NAME}"));
        assert!(places[3].ends_with(&format!("engine/assets/{FILE_NAME}")));
        assert_eq!(places[4], format!("/tree/engine/assets/{FILE_NAME}"));
        assert_eq!(places[5], format!("engine/assets/{FILE_NAME}"));
        // A release looks at no source tree.
        assert_eq!(candidates(Some(program), Some(data), ""), list[..3]);
        let Search::Absent(text) = LpipsWeights::search(&["/nowhere/a".into()]).unwrap() else {
            panic!("found");
        };
        assert!(
            text.contains("`/nowhere/a`") && text.contains(FILE_NAME) && text.contains("kiln-weights-"),
            "{text}"
        );
    }

    #[test]
    fn the_shipped_file_is_accepted() {
        let Search::Found(weights) = LpipsWeights::find().unwrap() else {
            panic!("the repository carries the weights");
        };
        assert_eq!(weights.constants().len(), constants_len() as usize);
        let scaling: Vec<f32> = weights.constants().iter().rev().take(6).rev().copied().collect();
        assert_eq!(scaling, [-0.030, -0.088, -0.188, 0.458, 0.448, 0.450]);
        assert_eq!(weights.conv(12).len(), 512 * 512 * 9 / 2);
    }

    #[test]
    fn another_file_is_refused_with_its_path() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let error = LpipsWeights::read(&path).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml") && error.contains("29435440"), "{error}");
    }

    #[test]
    fn malformed_containers_are_refused() {
        let good = r#"{"t":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}"#;
        let tensors = file(good, &[0, 0x3c, 0, 0xc0]);
        assert_eq!(
            Tensors::parse(&tensors).unwrap().halves("t", &[2]).unwrap(),
            [0x3c00, 0xc000]
        );
        let short = file(good, &[0, 0]);
        assert!(Tensors::parse(&short).unwrap().halves("t", &[2]).is_err());
        assert!(Tensors::parse(&tensors).unwrap().halves("t", &[1]).is_err());
        assert!(Tensors::parse(&tensors).unwrap().halves("u", &[2]).is_err());
        let backwards = file(r#"{"t":{"dtype":"F16","shape":[2],"data_offsets":[4,0]}}"#, &[0; 4]);
        assert!(Tensors::parse(&backwards).unwrap().halves("t", &[2]).is_err());
        assert!(Tensors::parse(&u64::MAX.to_le_bytes()).is_err());
        assert!(Tensors::parse(&[1, 0]).is_err());
        assert!(Tensors::parse(&file("[]", &[])).is_err());
    }
}
