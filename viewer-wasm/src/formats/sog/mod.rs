//! SOG, in an archive or as a description whose images are beside it; `kiln_formats::sog` says what is in it.

use kiln_formats::sog::{Coded, Files, Means, Palette};
use kiln_formats::{Error, zip::Directory};

use super::Collected;
use crate::json::{self, Value};
use crate::ply::{Filter, MIP_KERNEL, Refusal};
use crate::run::inner_path;

pub(crate) use kiln_formats::sog::{META, Meta};

/// Most splats of one set of images.
const MOST_SPLATS: u64 = 1 << 24;

/// Reads a description.
pub(crate) fn describe(text: &[u8]) -> Result<Meta, Refusal> {
    let value = json::parse(&String::from_utf8_lossy(text)).map_err(|e| format!("its {META} is {e}"))?;
    let version = value.whole("version").map(|version| version as u32);
    Meta::check_version(version).map_err(|e| e.to_string())?;
    let meta = meta(&value).filter(|meta| meta.count <= MOST_SPLATS);
    let meta = meta.ok_or_else(|| format!("its {META} does not describe splats"))?;
    meta.check().map_err(|e| e.to_string())?;
    Ok(meta)
}

fn meta(value: &Value) -> Option<Meta> {
    let means = value.get("means")?;
    Some(Meta {
        version: 2,
        asset: None,
        count: value.whole("count")?,
        antialias: Some(value.get("antialias") == Some(&Value::Bool(true))),
        means: Means {
            mins: numbers(means, "mins").try_into().ok()?,
            maxs: numbers(means, "maxs").try_into().ok()?,
            files: files(means)?,
        },
        scales: coded(value.get("scales")?)?,
        quats: Files {
            files: files(value.get("quats")?)?,
        },
        sh0: coded(value.get("sh0")?)?,
        sh_rest: match value.get("shN") {
            Some(palette) => Some(Palette {
                count: usize::try_from(palette.whole("count")?).ok()?,
                bands: u32::try_from(palette.whole("bands")?).ok()?,
                codebook: book(palette),
                files: files(palette)?,
            }),
            None => None,
        },
    })
}

fn coded(value: &Value) -> Option<Coded> {
    Some(Coded {
        codebook: book(value),
        files: files(value)?,
    })
}

fn book(value: &Value) -> Vec<f32> {
    numbers(value, "codebook").into_iter().map(|v| v as f32).collect()
}

fn numbers(value: &Value, key: &str) -> Vec<f64> {
    value.items(key).iter().filter_map(Value::as_number).collect()
}

fn files<const N: usize>(value: &Value) -> Option<[String; N]> {
    let names = value.items("files").iter().map(|name| inner_path(name.as_text()?));
    names.collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// The filter that a description asks for.
pub(crate) fn filter(meta: &Meta) -> Filter {
    match meta.antialias {
        Some(true) => Filter::Mip(MIP_KERNEL),
        _ => Filter::Classic,
    }
}

/// The description in an archive, and its images.
fn open(bytes: &[u8]) -> Result<(Meta, Vec<Vec<u8>>), Refusal> {
    let fetch = |first: u64, length: u64| {
        let rest = bytes.get(first as usize..).unwrap_or_default();
        Ok::<_, Error>(rest[..rest.len().min(length as usize)].to_vec())
    };
    let directory = Directory::read(bytes.len() as u64, fetch).map_err(|e| e.to_string())?;
    let file = |name: &str| directory.file(name, u64::MAX, fetch).map_err(|e| e.to_string());
    let meta = describe(&file(META)?)?;
    let files = meta.images().map(file).collect::<Result<_, _>>()?;
    Ok((meta, files))
}

/// Reads an archive.
pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let (meta, files) = open(bytes)?;
    let mut out = Collected::new(meta.count as usize, meta.sh_degree(), filter(&meta), None)?;
    meta.splats(&files, |splat| out.take(splat))
        .map_err(|e| e.to_string())?;
    Ok(out.end())
}

#[cfg(test)]
pub(crate) mod tests;
