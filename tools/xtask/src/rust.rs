//! The text of generated Rust.
//!
//! Owns: how declarations look. Promises: what `cargo fmt` would make of it, so that a check needs no formatter, and
//! documentation for everything public: the comment in the shader where there is one.

use crate::failure::{Failure, Result};
use crate::glsl::{Access, Constant, Field};
use crate::kernels::{Family, Kind, Shared, Types, Variant};
use crate::spirv::Structure;

const WIDTH: usize = 120;
/// Widest list that `cargo fmt` leaves on a line.
const LIST_WIDTH: usize = 72;

/// The file of a family; `types` are another family's where it has none of its own.
pub(crate) fn family(family: &Family, types: Option<&Types>) -> String {
    let mut text = doc(
        "//!",
        &format!("`shaders/{}.comp`: {} {MADE}", family.stem, lower(&family.summary)),
    );
    match types {
        Some(theirs) => {
            text += &format!("\n{}use kiln_program::Kernel;\n", import(theirs));
        }
        None => {
            text += "\nuse kiln_program::{Binding, Bindings, Kernel, Span};\n";
            text += &own_types(family);
        }
    }
    for (at, variant) in family.variants.iter().enumerate() {
        text += &kernel(variant, types.unwrap_or(&family.types(at)));
    }
    if !family.constants.is_empty() {
        text += "\n";
        text += &constants(&family.constants);
    }
    text
}

/// The line that brings another family's types.
fn import(types: &Types) -> String {
    let Some(from) = &types.from else { return String::new() };
    let mut names: Vec<&str> = types.names.iter().map(String::as_str).filter(|n| *n != "()").collect();
    names.sort_unstable();
    match &names[..] {
        [one] => format!("use super::{from}::{one};\n"),
        _ => format!("use super::{from}::{{{}}};\n", names.join(", ")),
    }
}

fn own_types(family: &Family) -> String {
    let binds = family.binds.iter().map(|kind| bind(family, kind));
    let pushes = family.pushes.iter().map(|kind| {
        let fields = first(family, kind).map_or(&[][..], |v| &v.interface.push);
        let about = format!("Push constants of {}.", statics(family, kind));
        words(&about, kind, fields, "Word")
    });
    let specs = family.specs.iter().map(|kind| {
        let fields = first(family, kind).map_or(&[][..], |v| &v.interface.spec);
        let about = format!("Specialisation constants of {}.", statics(family, kind));
        words(&about, kind, fields, "Constant")
    });
    binds.chain(pushes).chain(specs).collect()
}

/// The static of a module.
fn kernel(variant: &Variant, types: &Types) -> String {
    let [bind, push, spec] = &types.names;
    let arguments = match (push.as_str(), spec.as_str()) {
        ("()", "()") => bind.clone(),
        (_, "()") => format!("{bind}, {push}"),
        _ => format!("{bind}, {push}, {spec}"),
    };
    let made = if variant.defines.is_empty() {
        String::new()
    } else {
        format!(", made with `{}`", variant.defines.join(" "))
    };
    let about = doc("///", &format!("`{}.spv`{made}.", variant.name));
    let module = format!("include_bytes!(\"../../../../shaders/spv/{}.spv\")", variant.name);
    let head = format!("pub static {}: Kernel<{arguments}> =", variant.constant());
    let call = items(0, "Kernel::new(", &[format!("\"{}\"", variant.name), module], ");");
    let fits = call.contains('\n') || head.len() + 1 + call.len() <= WIDTH;
    format!("\n{about}{head}{}{call}\n", if fits { " " } else { "\n    " })
}

/// `common.rs`.
pub(crate) fn common(shared: &[Shared]) -> Result<String> {
    let mut text = doc(
        "//!",
        &format!("`shaders/common`: structures in memory and constants of many kernels. {MADE}"),
    );
    text += "\nuse std::mem::offset_of;\n";
    for file in shared {
        for (structure, layout) in &file.structures {
            text += &declare(structure, layout).map_err(|e| Failure::new(format!("{}: {e}", file.file)))?;
        }
    }
    for file in shared.iter().filter(|file| !file.constants.is_empty()) {
        text += &format!("\n// shaders/{}\n\n", file.file);
        text += &constants(&file.constants);
    }
    Ok(text)
}

/// `mod.rs`.
pub(crate) fn list<'a>(families: impl Iterator<Item = &'a Family> + Clone) -> String {
    let mut text = doc(
        "//!",
        &format!(
            "What the shaders declare: for each source in `shaders` its bindings, push and specialisation constants, and \
             a kernel for each of its modules. {MADE}"
        ),
    );
    let mut modules: Vec<&str> = families.clone().map(|family| family.stem.as_str()).collect();
    modules.push("common");
    modules.sort_unstable();
    text += "\n";
    for name in modules {
        text += &format!("pub mod {name};\n");
    }
    let kernels: Vec<String> = families
        .flat_map(|family| {
            family
                .variants
                .iter()
                .map(|v| format!("&{}::{}.shader", family.stem, v.constant()))
        })
        .collect();
    text += "\nuse kiln_program::Shader;\n\n/// Every shader.\n";
    text += &format!("pub static ALL: [&Shader; {}] = [\n", kernels.len());
    for kernel in &kernels {
        text += &format!("    {kernel},\n");
    }
    text + "];\n"
}

const MADE: &str = "Made by `cargo xtask shaders`.";

fn first<'a>(family: &'a Family, kind: &Kind) -> Option<&'a Variant> {
    kind.of.first().and_then(|at| family.variants.get(*at))
}

/// Links to the statics that have a type.
fn statics(family: &Family, kind: &Kind) -> String {
    let members = kind.of.iter().filter_map(|at| family.variants.get(*at));
    let links: Vec<String> = members.map(|variant| format!("[`{}`]", variant.constant())).collect();
    match &links[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => links.concat(),
    }
}

fn bind(family: &Family, kind: &Kind) -> String {
    let Some(variant) = first(family, kind) else {
        return String::new();
    };
    let buffers = &variant.interface.buffers;
    let verb = if kind.of.len() == 1 { "binds" } else { "bind" };
    let mut text = format!("\n{}", doc("///", &format!("What {} {verb}.", statics(family, kind))));
    text += &format!("#[derive(Clone, Copy, Debug)]\npub struct {} {{\n", kind.name);
    let from = base(kind, &mut text);
    for (at, buffer) in buffers.iter().enumerate().skip(from) {
        // Where variants hold the same in other types, all of them.
        let mut types: Vec<String> = Vec::new();
        for member in kind.of.iter().filter_map(|of| family.variants.get(*of)) {
            let held = member
                .interface
                .buffers
                .get(at)
                .map_or(String::new(), |b| b.types.join(", "));
            if !types.contains(&held) {
                types.push(held);
            }
        }
        let types: Vec<String> = types.iter().map(|held| format!("`{held}`")).collect();
        let comment = if buffer.comment.is_empty() {
            String::new()
        } else {
            format!("; {}", buffer.comment)
        };
        text += &doc(
            "    ///",
            &sentence(&format!("Binding {at}, {}{comment}", types.join(" or "))),
        );
        text += &format!("    pub {}: Span,\n", buffer.name);
    }
    let list: Vec<String> = buffers.iter().map(|b| binding(&b.name, b.access)).collect();
    let own = buffers.iter().skip(from);
    let own: Vec<String> = own.map(|buffer| format!("self.{}", buffer.name)).collect();
    let views = if from == 0 {
        items(8, "vec![", &own, "]")
    } else {
        let more = items(8, "views.extend([", &own, "]);");
        format!("        let mut views = self.base.views();\n{more}\n        views")
    };
    text += &format!(
        "}}\n\nimpl Bindings for {} {{\n    const LIST: &'static [Binding] = {};\n\n    fn views(&self) -> Vec<Span> {{\n{}\n    }}\n}}\n",
        kind.name,
        items(4, "&[", &list, "]").trim_start(),
        views,
    );
    text
}

/// Adds the field of the type that `kind` goes on from; the number of its entries.
fn base(kind: &Kind, text: &mut String) -> usize {
    let Some((name, entries)) = &kind.base else { return 0 };
    *text += &doc("    ///", &format!("The first {entries}."));
    *text += &format!("    pub base: {name},\n");
    *entries
}

/// A structure of plain words.
fn words(about: &str, kind: &Kind, fields: &[Field], unit: &str) -> String {
    let mut text = format!("\n{}#[repr(C)]\n", doc("///", about));
    text += "#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]\n";
    text += &format!("pub struct {} {{\n", kind.name);
    let from = base(kind, &mut text);
    for (at, field) in fields.iter().enumerate().skip(from) {
        let comment = if field.comment.is_empty() {
            String::new()
        } else {
            format!("; {}", field.comment)
        };
        text += &doc("    ///", &sentence(&format!("{unit} {at}{comment}")));
        let (kind, _) = element(&field.kind).unwrap_or(("u32", 4));
        text += &format!("    pub {}: {kind},\n", field.name);
    }
    text + "}\n"
}

fn declare(structure: &crate::glsl::Structure, layout: &Structure) -> std::result::Result<String, String> {
    let name = &structure.name;
    if structure.fields.len() != layout.members.len() {
        return Err(format!("`{name}` has another number of members in its modules"));
    }
    let mut text = format!("\n{}#[repr(C)]\n", doc("///", &sentence(&structure.comment)));
    // Longer arrays have no `Default`.
    let default = if structure.fields.iter().all(|f| f.count.is_none_or(|n| n <= 32)) {
        ", Default"
    } else {
        ""
    };
    text += &format!("#[derive(Clone, Copy, Debug{default}, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]\n");
    text += &format!("pub struct {name} {{\n");
    let mut asserts = String::new();
    let mut end = 0;
    for (field, (offset, size)) in structure.fields.iter().zip(&layout.members) {
        let what = format!("`{name}.{}`", field.name);
        if field.comment.is_empty() {
            return Err(format!("{what} has no comment to document it"));
        }
        let (element, bytes) = element(&field.kind).ok_or(format!("{what}: type `{}` is not known", field.kind))?;
        if bytes * field.count.unwrap_or(1) != *size as usize {
            return Err(format!("{what} takes {size} bytes in its modules"));
        }
        let kind = field
            .count
            .map_or(element.to_owned(), |count| format!("[{element}; {count}]"));
        text += &doc("    ///", &sentence(&field.comment));
        text += &format!("    pub {}: {kind},\n", field.name);
        asserts += &format!("    assert!(offset_of!({name}, {}) == {offset});\n", field.name);
        end = offset + size;
    }
    let bytes = layout.stride.unwrap_or(end);
    text += &format!("}}\n\nconst _: () = {{\n{asserts}    assert!(size_of::<{name}>() == {bytes});\n}};\n");
    Ok(text)
}

/// Rust type and size of a GLSL type.
fn element(kind: &str) -> Option<(&'static str, usize)> {
    Some(match kind {
        "uint" => ("u32", 4),
        "int" => ("i32", 4),
        "float" => ("f32", 4),
        "vec2" => ("[f32; 2]", 8),
        "vec4" => ("[f32; 4]", 16),
        "uvec2" => ("[u32; 2]", 8),
        "uvec4" => ("[u32; 4]", 16),
        _ => return None,
    })
}

fn constants(list: &[Constant]) -> String {
    let mut text = String::new();
    for constant in list {
        text += &doc("///", &sentence(&constant.comment));
        text += &format!("pub const {}: u32 = {};\n", constant.name, constant.value);
    }
    text
}

fn binding(name: &str, access: Access) -> String {
    let direction = match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read_write",
    };
    format!("Binding::{direction}(\"{name}\")")
}

/// A list or the arguments of a call as `cargo fmt` lays them out.
fn items(indent: usize, open: &str, list: &[String], close: &str) -> String {
    let space = " ".repeat(indent);
    let line = list.join(", ");
    if line.len() <= LIST_WIDTH {
        return format!("{space}{open}{line}{close}");
    }
    let rows: String = list.iter().map(|item| format!("{space}    {item},\n")).collect();
    format!("{space}{open}\n{rows}{space}{close}")
}

/// Comment lines of at most [`WIDTH`] columns.
fn doc(mark: &str, words: &str) -> String {
    let mut text = String::new();
    let mut line = mark.to_owned();
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text += &line;
            text.push('\n');
            mark.clone_into(&mut line);
        }
        line.push(' ');
        line += word;
    }
    text + &line + "\n"
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let text = capital(text);
    if text.ends_with('.') { text } else { text + "." }
}

/// With a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence after a colon: small, unless it begins with a name of several capitals.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    if letters.clone().next().is_some_and(char::is_lowercase) {
        first.to_lowercase().chain(letters).collect()
    } else {
        text.to_owned()
    }
}
