//! A file's description, its numbers, and what is wrong with them.

use serde_json::Value;

use crate::Error;

const FORMAT: &str = "GLB";
/// Most bytes of the description, each of which takes up to 16 in memory.
pub(super) const MOST_JSON: usize = 8 << 20;

/// The chunks of a file.
pub(super) struct File<'a> {
    /// The description.
    pub(super) json: Value,
    binary: &'a [u8],
}

/// The error of a file that holds what is not read, with what to do.
pub(super) fn content(found: impl Into<String>, hint: &'static str) -> Error {
    Error::Content {
        format: FORMAT,
        found: found.into(),
        hint,
    }
}

/// The error of a file that is not as glTF wants it.
pub(super) fn damaged(found: impl Into<String>) -> Error {
    content(found, "write it again")
}

/// A list of an object; empty where there is none.
pub(super) fn list<'v>(object: &'v Value, name: &str) -> &'v [Value] {
    object[name].as_array().map_or(&[], Vec::as_slice)
}

/// An entry of one of the description's lists.
pub(super) fn at<'v>(json: &'v Value, name: &str, index: u64) -> Result<&'v Value, Error> {
    let found = usize::try_from(index)
        .ok()
        .and_then(|index| list(json, name).get(index));
    found.ok_or_else(|| damaged(format!("{name} has no entry {index}")))
}

/// An index or a number of things.
pub(super) fn whole(value: &Value) -> Result<u64, Error> {
    value.as_u64().ok_or_else(|| damaged("an index is no whole number"))
}

impl<'a> File<'a> {
    /// Reads the description and finds the numbers.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let word = |at: usize| -> Option<u32> {
            let word = bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(word.try_into().ok()?))
        };
        if bytes.get(..4) != Some(b"glTF") {
            return Err(content("it does not begin as GLB files do", "name a GLB file"));
        }
        if word(4) != Some(2) {
            return Err(content("it is not of version 2", "write it as glTF 2.0"));
        }
        let (mut json, mut binary, mut at) = (None, &[][..], 12);
        while let (Some(length), Some(kind)) = (word(at), word(at + 4)) {
            let chunk = bytes.get(at + 8..).and_then(|rest| rest.get(..length as usize));
            let chunk = chunk.ok_or_else(|| damaged("it ends inside a chunk"))?;
            match &kind.to_le_bytes() {
                b"JSON" if json.is_none() => json = Some(chunk),
                b"BIN\0" if binary.is_empty() => binary = chunk,
                _ => {}
            }
            at += 8 + length as usize;
        }
        let json = json.ok_or_else(|| damaged("it has no description"))?;
        if json.len() > MOST_JSON {
            return Err(content(
                format!("its description has {} bytes, at most {MOST_JSON} are read", json.len()),
                "write fewer, larger meshes",
            ));
        }
        let json = serde_json::from_slice(json).map_err(|e| damaged(format!("its description: {e}")))?;
        Ok(Self { json, binary })
    }

    /// The picture that colours a primitive.
    pub(super) fn picture_of(&self, primitive: &Value) -> Result<Option<u64>, Error> {
        let Some(material) = primitive.get("material") else {
            return Ok(None);
        };
        let material = at(&self.json, "materials", whole(material)?)?;
        match &material["pbrMetallicRoughness"]["baseColorTexture"]["index"] {
            Value::Null => Ok(None),
            texture => whole(&at(&self.json, "textures", whole(texture)?)?["source"]).map(Some),
        }
    }

    /// Bytes of a picture.
    pub(super) fn image(&self, index: u64) -> Result<Vec<u8>, Error> {
        match at(&self.json, "images", index)?.get("bufferView") {
            Some(view) => Ok(self.view(whole(view)?)?.to_vec()),
            None => Err(content("its picture lies in another file", "write it as one GLB file")),
        }
    }

    /// Bytes of a buffer view.
    pub(super) fn view(&self, index: u64) -> Result<&'a [u8], Error> {
        let view = at(&self.json, "bufferViews", index)?;
        let buffer = at(&self.json, "buffers", whole(&view["buffer"])?)?;
        if view["buffer"].as_u64() != Some(0) || buffer.get("uri").is_some() {
            return Err(content("its numbers lie in another file", "write it as one GLB file"));
        }
        let offset = view["byteOffset"].as_u64().unwrap_or(0);
        let length = whole(&view["byteLength"])?;
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let bytes = range.and_then(|(from, length)| self.binary.get(from..from.checked_add(length)?));
        bytes.ok_or_else(|| damaged(format!("buffer view {index} lies beyond its end")))
    }
}
