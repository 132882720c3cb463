//! Accessors: numbers, colours and indices.

use super::file::{File, at, content, damaged, whole};
use crate::Error;
use crate::glb::{FLOAT, UNSIGNED_INT, UNSIGNED_SHORT};

const UNSIGNED_BYTE: u32 = 5121;

impl<'a> File<'a> {
    /// Entries of an accessor, as raw bytes of `length` components each, and its component type.
    fn raw(&self, index: u64, lengths: &[usize]) -> Result<(Vec<&'a [u8]>, u32, usize), Error> {
        let accessor = at(&self.json, "accessors", index)?;
        if accessor.get("sparse").is_some() {
            return Err(content("an accessor is sparse", "write it without"));
        }
        let length = match accessor["type"].as_str() {
            Some("SCALAR") => 1,
            Some("VEC2") => 2,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            _ => 0,
        };
        let component = u32::try_from(whole(&accessor["componentType"])?).unwrap_or(0);
        let bytes = match component {
            UNSIGNED_BYTE => 1,
            UNSIGNED_SHORT => 2,
            UNSIGNED_INT | FLOAT => 4,
            _ => 0,
        };
        if !lengths.contains(&length) || bytes == 0 {
            return Err(damaged(format!(
                "accessor {index} is not of the kind that its use wants"
            )));
        }
        let count = usize::try_from(whole(&accessor["count"])?).unwrap_or(usize::MAX);
        let view_index = accessor.get("bufferView");
        let view_index = whole(view_index.ok_or_else(|| damaged(format!("accessor {index} has no bytes")))?)?;
        let view = self.view(view_index)?;
        let own = length * bytes;
        let stride = at(&self.json, "bufferViews", view_index)?["byteStride"].as_u64();
        let stride = stride.and_then(|s| usize::try_from(s).ok()).unwrap_or(own).max(1);
        let first = usize::try_from(accessor["byteOffset"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
        let end = count.checked_sub(1).map(|last| {
            let last = last.checked_mul(stride)?.checked_add(first)?;
            last.checked_add(own)
        });
        match end {
            None => Ok((Vec::new(), component, length)),
            Some(Some(end)) if end <= view.len() => {
                let entry = |i: usize| &view[first + i * stride..][..own];
                Ok(((0..count).map(entry).collect(), component, length))
            }
            Some(_) => Err(damaged(format!("accessor {index} lies beyond its buffer view"))),
        }
    }

    /// Numbers of vectors of `length`; whole ones are shares of their type's largest value.
    pub(super) fn numbers(&self, index: u64, length: usize) -> Result<Vec<f32>, Error> {
        let (entries, component, _) = self.raw(index, &[length])?;
        Ok(entries
            .into_iter()
            .flat_map(|entry| components(entry, component))
            .collect())
    }

    /// Colours, encoded as photos are.
    pub(super) fn colors(&self, index: u64) -> Result<Vec<[f32; 3]>, Error> {
        let (entries, component, _) = self.raw(index, &[3, 4])?;
        let color = |entry: &[u8]| {
            let mut values = components(entry, component);
            [0; 3].map(|_| code(values.next().unwrap_or(0.0)))
        };
        Ok(entries.into_iter().map(color).collect())
    }

    /// Whole numbers.
    pub(super) fn indices(&self, index: u64) -> Result<Vec<u32>, Error> {
        let (entries, component, _) = self.raw(index, &[1])?;
        let number = |entry: &[u8]| {
            let mut word = [0; 4];
            word[..entry.len()].copy_from_slice(entry);
            u32::from_le_bytes(word)
        };
        match component {
            FLOAT => Err(damaged("indices are not whole numbers")),
            _ => Ok(entries.into_iter().map(number).collect()),
        }
    }
}

fn components(entry: &[u8], component: u32) -> impl Iterator<Item = f32> {
    let bytes = match component {
        UNSIGNED_BYTE => 1,
        UNSIGNED_SHORT => 2,
        _ => 4,
    };
    entry.chunks_exact(bytes).map(move |value| {
        let mut word = [0; 4];
        word[..bytes].copy_from_slice(value);
        match component {
            UNSIGNED_BYTE => f32::from(word[0]) / 255.0,
            UNSIGNED_SHORT => u32::from_le_bytes(word) as f32 / 65535.0,
            UNSIGNED_INT => u32::from_le_bytes(word) as f32,
            _ => f32::from_le_bytes(word),
        }
    })
}

/// The sRGB code of a share of full light (IEC 61966-2-1), both 0 to 1.
fn code(light: f32) -> f32 {
    let light = light.clamp(0.0, 1.0);
    match light <= 0.003_130_8 {
        true => 12.92 * light,
        false => (1.055 * f64::from(light).powf(1.0 / 2.4) - 0.055) as f32,
    }
}
