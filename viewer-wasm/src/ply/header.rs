//! What headers say about splats, and why some are refused.

use kiln_ply::{Element, Format, Header};

use super::{Filter, MIP_KERNEL, Refusal};

/// Reads the header that `bytes` begin with, and its length; `None` when its end is not there yet.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Header, usize)>, Refusal> {
    let read = Header::parse(bytes).map_err(|bad| format!("this is not a PLY file: line {}: {bad}", bad.line))?;
    if let Some((header, _)) = &read
        && header.format == Format::Ascii
    {
        let found = header.format.name();
        return Err(format!(
            "the PLY file is text (`{found}`), and binary ones are opened; `kiln export FILE -o out.ply` makes that of it"
        ));
    }
    Ok(read)
}

/// The element of that name, and the bytes of those before it.
pub(super) fn element<'a>(header: &'a Header, name: &str) -> Result<Option<(&'a Element, u64)>, Refusal> {
    header
        .fixed(name)
        .map_err(|list| format!("the PLY element `{}` has a list: this is a mesh, not splats", list.name))
}

/// The comment that starts with `key`, without it.
fn comment<'a>(header: &'a Header, key: &str) -> Option<&'a str> {
    let mut found = header.comments.iter().filter_map(|comment| comment.strip_prefix(key));
    found.next().map(str::trim)
}

/// The screen-space filter the comments ask for; without a word the published one of 3D Gaussian Splatting.
pub(super) fn filter(header: &Header) -> Filter {
    let kernel = comment(header, "Kernel size:").and_then(crate::number::parse);
    let kernel = kernel
        .map(|size| size as f32)
        .filter(|size| size.is_finite() && *size >= 0.0);
    let mip = comment(header, "SplatRenderMode:").is_some_and(|mode| mode == "mip")
        || comment(header, "antialiased").is_some_and(|flag| flag == "1");
    if mip {
        Filter::Mip(kernel.unwrap_or(MIP_KERNEL))
    } else {
        Filter::Classic
    }
}

/// The training iteration that a comment names.
pub(super) fn iteration(header: &Header) -> Option<u64> {
    let mut found = header
        .comments
        .iter()
        .filter_map(|text| text.split_once("at iteration"));
    found.next().and_then(|(_, number)| number.trim().parse().ok())
}
