//! `crates/kernels/src/generated`: what the shaders declare, as Rust.
//!
//! Owns: the folder, and which types a source's modules share. Promises: the files follow from sources and modules alone,
//! need no compiler, and every declaration was held against its module. Refuses: a module that binds, reads or writes
//! what its source does not declare, and structures that differ from module to module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::glsl::{self, Access, Field, Interface};
use crate::manifest;
use crate::rust;
use crate::source::{self, Output};
use crate::spirv::{self, Module, Structure};

/// One module: what its source declares, and what it is.
pub struct Variant {
    /// `project.half`.
    pub name: String,
    /// Preprocessor definitions.
    pub defines: Vec<String>,
    /// What a pass gives to it.
    pub interface: Interface,
    module: Module,
}

/// A type, and the variants that it belongs to by their positions.
pub struct Kind {
    /// `HalfBind`.
    pub name: String,
    /// Variants.
    pub of: Vec<usize>,
    /// The type that has the first of its entries, and how many those are.
    pub base: Option<(String, usize)>,
}

/// One source with its modules.
pub struct Family {
    /// `project`.
    pub stem: String,
    /// First sentence of the source.
    pub summary: String,
    /// The family whose types this one has, and which of its variants is like these.
    pub like: Option<(String, String)>,
    /// The plain one first, then by length of name.
    pub variants: Vec<Variant>,
    /// Binding lists.
    pub binds: Vec<Kind>,
    /// Push constants.
    pub pushes: Vec<Kind>,
    /// Specialisation constants.
    pub specs: Vec<Kind>,
    /// Its constants.
    pub constants: Vec<glsl::Constant>,
}

/// What one file of `shaders/common` declares.
pub struct Shared {
    /// `common/step.glsl`.
    pub file: String,
    /// Structures that some buffer holds, with their layouts.
    pub structures: Vec<(glsl::Structure, Structure)>,
    /// Constants.
    pub constants: Vec<glsl::Constant>,
}

/// Where the files are.
pub fn folder(root: &Path) -> PathBuf {
    root.join("crates/kernels/src/generated")
}

/// Writes what is not current and removes what no source declares; returns how many files changed.
pub fn write(root: &Path) -> Result<usize> {
    let folder = folder(root);
    fs::create_dir_all(&folder).map_err(|e| Failure::io("create", &folder, e))?;
    let wanted = files(root)?;
    let mut changed = 0;
    for name in present(&folder)?.into_iter().filter(|name| !wanted.contains_key(name)) {
        let path = folder.join(&name);
        fs::remove_file(&path).map_err(|e| Failure::io("remove", &path, e))?;
        changed += 1;
    }
    for (name, text) in &wanted {
        let path = folder.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(text) {
            fs::write(&path, text).map_err(|e| Failure::io("write", &path, e))?;
            changed += 1;
        }
    }
    Ok(changed)
}

/// Files that are not what sources and modules say; empty when all are current.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let folder = folder(root);
    let (wanted, present) = (files(root)?, present(&folder)?);
    let mut list = Vec::new();
    for (name, text) in &wanted {
        match fs::read_to_string(folder.join(name)) {
            Err(error) => list.push(format!("generated/{name}: cannot be read: {error}")),
            Ok(found) if found.replace("\r\n", "\n") != *text => {
                list.push(format!("generated/{name}: not what the shaders declare"));
            }
            Ok(_) => {}
        }
    }
    let extra = present.iter().filter(|name| !wanted.contains_key(*name));
    list.extend(extra.map(|name| format!("generated/{name}: no shader declares it")));
    Ok(list)
}

fn present(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(|e| Failure::io("list", folder, e))? {
        let name = entry.map_err(|e| Failure::io("list", folder, e))?.file_name();
        names.insert(name.to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Every file by name.
fn files(root: &Path) -> Result<BTreeMap<String, String>> {
    let families = families(root)?;
    let shared = shared(&root.join("shaders"), &families)?;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for family in families.values() {
        let types = match &family.like {
            None => None,
            Some((other, variant)) => Some(likeness(family, families.get(other), variant)?),
        };
        files.insert(format!("{}.rs", family.stem), rust::family(family, types.as_ref()));
    }
    files.insert("common.rs".to_owned(), rust::common(&shared)?);
    files.insert("mod.rs".to_owned(), rust::list(families.values()));
    Ok(files)
}

fn families(root: &Path) -> Result<BTreeMap<String, Family>> {
    let shaders = root.join("shaders");
    let mut by_source: BTreeMap<String, Vec<Output>> = BTreeMap::new();
    for output in source::outputs(&shaders)? {
        by_source.entry(output.source.clone()).or_default().push(output);
    }
    let mut families = BTreeMap::new();
    for (file, mut outputs) in by_source {
        outputs.sort_by_key(|output| (output.name.len(), output.name.clone()));
        let text = read(&shaders.join(&file))?;
        let mut variants = Vec::new();
        for output in outputs {
            let path = manifest::folder(root).join(&output.name);
            let module = spirv::reflect(&fs::read(&path).map_err(|e| Failure::io("read", &path, e))?);
            let interface = glsl::interface(&text, &output.defines)
                .and_then(|interface| agree(&interface, &module).map(|()| interface))
                .map_err(|e| Failure::new(format!("{file} as {}: {e}", output.name)))?;
            variants.push(Variant {
                name: output.name.trim_end_matches(".spv").to_owned(),
                defines: output.defines,
                interface,
                module,
            });
        }
        let stem = file.trim_end_matches(".comp").to_owned();
        let of_family = |name: &str| (name.split('.').next().unwrap_or(name).to_owned(), name.to_owned());
        let family = Family {
            summary: glsl::summary(&text),
            like: glsl::like(&text).map(of_family),
            binds: kinds(&variants, "Bind", bindings, |v| {
                v.interface
                    .buffers
                    .iter()
                    .map(|b| (&b.name, b.access, b.types.first()))
                    .collect()
            }),
            pushes: kinds(
                &variants,
                "Push",
                |v| words(&v.interface.push),
                |v| words(&v.interface.push),
            ),
            specs: kinds(
                &variants,
                "Spec",
                |v| words(&v.interface.spec),
                |v| words(&v.interface.spec),
            ),
            constants: glsl::constants(&text),
            variants,
            stem: stem.clone(),
        };
        families.insert(stem, family);
    }
    Ok(families)
}

impl Variant {
    /// Name of the static: `HALF`, and `KERNEL` for the plain variant.
    pub fn constant(&self) -> String {
        self.name.split('.').nth(1).unwrap_or("kernel").to_uppercase()
    }

    /// `Half`, or nothing for the plain variant.
    fn prefix(&self) -> String {
        let words = self.name.split('.').nth(1).unwrap_or("").split('_');
        words.map(rust::capital).collect()
    }
}

/// Variants with equal lists have a type in common, with the name of the first of them. An empty list has none. A list
/// that goes on where another ends, in `whole`, holds that one.
fn kinds<'a, K: PartialEq, W: PartialEq>(
    variants: &'a [Variant],
    end: &str,
    list: impl Fn(&'a Variant) -> Vec<K>,
    whole: impl Fn(&'a Variant) -> Vec<W>,
) -> Vec<Kind> {
    let mut groups: Vec<(Vec<K>, Vec<W>, Kind)> = Vec::new();
    for (at, variant) in variants.iter().enumerate() {
        let key = list(variant);
        match groups.iter_mut().find(|(other, ..)| *other == key) {
            Some((.., kind)) => kind.of.push(at),
            None if key.is_empty() => {}
            None => {
                let name = variant.prefix() + end;
                let (of, base) = (vec![at], None);
                groups.push((key, whole(variant), Kind { name, of, base }));
            }
        }
    }
    if let [(.., only)] = &mut groups[..] {
        end.clone_into(&mut only.name);
    }
    let bases: Vec<Option<(String, usize)>> = groups
        .iter()
        .map(|(_, mine, _)| {
            let shorter = groups
                .iter()
                .filter(|(_, w, _)| w.len() < mine.len() && mine.starts_with(w));
            let longest = shorter.max_by_key(|(_, w, _)| w.len());
            longest.map(|(_, w, kind)| (kind.name.clone(), w.len()))
        })
        .collect();
    groups
        .into_iter()
        .zip(bases)
        .map(|((.., kind), base)| Kind { base, ..kind })
        .collect()
}

fn bindings(variant: &Variant) -> Vec<(&str, Access)> {
    let buffers = variant.interface.buffers.iter();
    buffers.map(|b| (b.name.as_str(), b.access)).collect()
}

fn words(fields: &[Field]) -> Vec<(&str, &str)> {
    fields.iter().map(|f| (f.name.as_str(), f.kind.as_str())).collect()
}

/// The types of one variant: bindings, push constants, specialisation constants.
pub struct Types {
    /// Module that has them, when it is another family's.
    pub from: Option<String>,
    /// `()` where there is none.
    pub names: [String; 3],
}

impl Family {
    /// The types of the variant at `at`.
    pub fn types(&self, at: usize) -> Types {
        let find = |kinds: &[Kind]| {
            kinds
                .iter()
                .find(|kind| kind.of.contains(&at))
                .map(|kind| kind.name.clone())
        };
        let names = [&self.binds, &self.pushes, &self.specs];
        Types {
            from: None,
            names: names.map(|kinds| find(kinds).unwrap_or_else(|| "()".to_owned())),
        }
    }
}

/// The types that `family` has from `other`, whose `variant` it says it is like.
fn likeness(family: &Family, other: Option<&Family>, variant: &str) -> Result<Types> {
    let stem = &family.stem;
    let missing = || {
        Failure::new(format!(
            "{stem}.comp is like `{variant}`, which is no module of its own types"
        ))
    };
    let other = other.filter(|other| other.like.is_none()).ok_or_else(missing)?;
    let at = other
        .variants
        .iter()
        .position(|v| v.name == variant)
        .ok_or_else(missing)?;
    let theirs = other.variants.get(at).ok_or_else(missing)?;
    let alike = |mine: &Variant| {
        bindings(mine) == bindings(theirs)
            && words(&mine.interface.push) == words(&theirs.interface.push)
            && words(&mine.interface.spec) == words(&theirs.interface.spec)
    };
    if let Some(mine) = family.variants.iter().find(|mine| !alike(mine)) {
        let name = &mine.name;
        return Err(Failure::new(format!(
            "{stem}.comp: `{name}` is like `{variant}`, but declares something else"
        )));
    }
    Ok(Types {
        from: Some(other.stem.clone()),
        ..other.types(at)
    })
}

/// Holds what a source declares against its module.
fn agree(interface: &Interface, module: &Module) -> std::result::Result<(), String> {
    for (binding, found) in &module.bindings {
        let declared = interface.buffers.get(*binding as usize);
        let declared = declared.ok_or(format!("binding {binding} is not declared"))?;
        let what = format!("binding {binding} `{}`", declared.name);
        let (may_read, may_write) = match declared.access {
            Access::Read => (true, false),
            Access::Write => (false, true),
            Access::ReadWrite => (true, true),
        };
        if (may_read, may_write) != (found.readable, found.writable) {
            return Err(format!("{what}: qualifiers differ from the module's"));
        }
        if (found.reads && !may_read) || (found.writes && !may_write) {
            return Err(format!("{what} is used against its qualifiers"));
        }
    }
    // Only plain words in push constants: both languages then agree on every offset.
    let plain = |f: &Field| matches!(f.kind.as_str(), "uint" | "int" | "float") && f.count.is_none();
    let offsets: Vec<(u32, u32)> = (0..).zip(&interface.push).map(|(word, _)| (4 * word, 4)).collect();
    if !interface.push.iter().all(plain) || !(module.push.is_empty() || module.push == offsets) {
        return Err("push constants are not plain words, one after the other".to_owned());
    }
    if let Some(field) = interface.spec.iter().find(|f| f.kind != "uint") {
        return Err(format!("specialisation constant `{}` is no uint", field.name));
    }
    let known = |id: &&u32| (**id as usize) < interface.spec.len() || **id as usize >= glsl::FIRST_OF_DEVICE;
    match module.spec.iter().find(|id| !known(id)) {
        Some(id) => Err(format!("specialisation constant {id} is not declared")),
        None => Ok(()),
    }
}

/// What the files of `shaders/common` declare, with the layouts that modules give to structures.
fn shared(shaders: &Path, families: &BTreeMap<String, Family>) -> Result<Vec<Shared>> {
    let folder = shaders.join("common");
    let mut list = Vec::new();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for entry in fs::read_dir(&folder).map_err(|e| Failure::io("list", &folder, e))? {
        let name = entry.map_err(|e| Failure::io("list", &folder, e))?.file_name();
        found.insert(format!("common/{}", name.to_string_lossy()), String::new());
    }
    for (file, text) in &mut found {
        *text = read(&shaders.join(file))?;
        let of_file = |e| Failure::new(format!("{file}: {e}"));
        if glsl::interface(text, &[]).map_err(of_file)? != Interface::default() {
            return Err(Failure::new(format!(
                "{file}: an interface belongs into the kernel's own file"
            )));
        }
        let mut structures = Vec::new();
        for structure in glsl::structures(text).map_err(of_file)? {
            if let Some(layout) = layout(&structure.name, families)? {
                structures.push((structure, layout));
            }
        }
        list.push(Shared {
            file: file.clone(),
            structures,
            constants: glsl::constants(text),
        });
    }
    Ok(list)
}

/// The layout of the structure `name` in every module with a buffer that holds it; `None` when no buffer does.
fn layout(name: &str, families: &BTreeMap<String, Family>) -> Result<Option<Structure>> {
    let mut layout: Option<(&str, Structure)> = None;
    for variant in families.values().flat_map(|family| &family.variants) {
        for (binding, buffer) in (0..).zip(&variant.interface.buffers) {
            let member = buffer.types.iter().position(|kind| kind.trim_end_matches("[]") == name);
            let found = member.zip(variant.module.bindings.get(&binding));
            let Some(found) = found.and_then(|(member, found)| found.structures.get(member)?.clone()) else {
                continue;
            };
            match &layout {
                Some((other, known)) if *known != found => {
                    let mine = &variant.name;
                    return Err(Failure::new(format!(
                        "`{name}` has one layout in {other} and another in {mine}"
                    )));
                }
                Some(_) => {}
                None => layout = Some((&variant.name, found)),
            }
        }
    }
    Ok(layout.map(|(_, layout)| layout))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .map(|text| text.replace("\r\n", "\n"))
        .map_err(|e| Failure::io("read", path, e))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::spirv::Use;

    /// What is said about a module with one binding that is used as `found`.
    fn refusal(access: &str, found: Use) -> String {
        let text = format!("layout(set = 0, binding = 0) {access} buffer Words {{ uint words[]; }};");
        let module = Module {
            bindings: BTreeMap::from([(0, found)]),
            ..Module::default()
        };
        agree(&glsl::interface(&text, &[]).unwrap(), &module)
            .err()
            .unwrap_or_default()
    }

    #[test]
    fn a_module_is_used_as_its_source_declares() {
        let reading = Use {
            readable: true,
            reads: true,
            ..Use::default()
        };
        assert_eq!(refusal("readonly", reading.clone()), "");
        assert!(refusal("writeonly", reading.clone()).contains("binding 0 `words`: qualifiers differ"));
        let both = Use {
            writes: true,
            ..reading
        };
        assert!(refusal("readonly", both).contains("used against"));
    }

    #[test]
    fn what_a_source_does_not_declare_is_refused() {
        let nothing = Interface::default();
        let with = |change: fn(&mut Module)| {
            let mut module = Module::default();
            change(&mut module);
            agree(&nothing, &module).unwrap_err()
        };
        assert!(with(|m| m.bindings.extend([(2, Use::default())])).contains("binding 2 is not declared"));
        assert!(with(|m| m.push.push((0, 4))).contains("push constants"));
        assert!(with(|m| m.spec.extend([0])).contains("specialisation constant 0"));
    }

    #[test]
    fn variants_with_equal_lists_share_a_type_and_longer_lists_hold_shorter_ones() {
        let variant = |name: &str, lines: &str| Variant {
            name: name.to_owned(),
            defines: Vec::new(),
            interface: glsl::interface(&format!("layout(push_constant) uniform Push {{\n{lines}\n}};"), &[]).unwrap(),
            module: Module::default(),
        };
        let variants = [
            variant("a", "uint stride;"),
            variant("a.half", "uint stride;"),
            variant("a.deep", "uint stride;\nfloat limit;"),
        ];
        let found = kinds(
            &variants,
            "Push",
            |v| words(&v.interface.push),
            |v| words(&v.interface.push),
        );
        let [plain, deep] = &found[..] else {
            unreachable!("two types")
        };
        assert_eq!(
            (plain.name.as_str(), &plain.of[..], &plain.base),
            ("Push", &[0, 1][..], &None)
        );
        assert_eq!(
            (deep.name.as_str(), &deep.base),
            ("DeepPush", &Some(("Push".to_owned(), 1)))
        );
    }
}
