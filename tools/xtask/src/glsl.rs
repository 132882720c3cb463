//! What a shader's text declares to its caller: bindings, push constants, specialisation constants; and what shared
//! files declare to everyone: structures and plain constants.
//!
//! Owns: the few lines of GLSL that are an interface. Promises: names, types and comments as written, in order. Refuses:
//! a declaration that it does not understand, by file and line. It is no GLSL parser: an interface is declared one line
//! an item, as all shaders here do.

use std::collections::{BTreeMap, BTreeSet};

/// How a shader uses a binding, by its qualifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// `readonly`.
    Read,
    /// `writeonly`.
    Write,
    /// Neither.
    ReadWrite,
}

/// A storage buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Name of the block in snake case, without a trailing `block`.
    pub name: String,
    /// Direction.
    pub access: Access,
    /// Types of the block's members: `uint[]`, `StepUniforms`.
    pub types: Vec<String>,
    /// The comment behind it, or nothing.
    pub comment: String,
}

/// A member of a structure, a push constant, or a specialisation constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name in lower case.
    pub name: String,
    /// Type without an array's length: `uint`, `vec4`.
    pub kind: String,
    /// Length of an array.
    pub count: Option<usize>,
    /// The comment behind it, or nothing.
    pub comment: String,
}

/// What a pass gives to a shader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Bindings 0, 1, 2, ...
    pub buffers: Vec<Buffer>,
    /// Push constants.
    pub push: Vec<Field>,
    /// Specialisation constants 0, 1, 2, ... Those from [`FIRST_OF_DEVICE`] on are not the pass's.
    pub spec: Vec<Field>,
}

/// A structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// Name.
    pub name: String,
    /// The comment before it, or nothing.
    pub comment: String,
    /// Members.
    pub fields: Vec<Field>,
}

/// A constant of type `uint`, or a macro for one, with a literal value and a comment behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// Name.
    pub name: String,
    /// The literal without its `u`.
    pub value: String,
    /// The comment.
    pub comment: String,
}

/// Specialisation constants from this one on say what a device is like, and are given to every pipeline.
pub const FIRST_OF_DEVICE: usize = 31;

type Parsed<T> = Result<T, String>;

/// The interface of the variant of `text` that is compiled with `defines` (`NAME` or `NAME=VALUE`).
pub fn interface(text: &str, defines: &[String]) -> Parsed<Interface> {
    let mut push = Vec::new();
    let (mut buffers, mut spec) = (BTreeMap::new(), BTreeMap::new());
    let mut lines = active(text, defines)?.into_iter();
    while let Some((number, line)) = lines.next() {
        let (code, comment) = split(line);
        let Some((arguments, rest)) = code.strip_prefix("layout(").and_then(|rest| rest.split_once(')')) else {
            continue;
        };
        let odd = || format!("line {number}: `{code}` is not a declaration of an interface as others are");
        let argument = |name: &str| {
            let value = arguments
                .split(',')
                .filter_map(|a| a.split_once('='))
                .find(|(key, _)| key.trim() == name);
            value.and_then(|(_, value)| value.trim().parse::<usize>().ok())
        };
        if rest.trim() == "in;" {
        } else if arguments.trim() == "push_constant" {
            push = block(&mut lines)?;
        } else if let Some(id) = argument("constant_id") {
            let rest = rest.trim().strip_prefix("const ").ok_or_else(odd)?;
            let (declared, _) = rest.split_once('=').ok_or_else(odd)?;
            if id < FIRST_OF_DEVICE {
                spec.insert(id, field(declared, comment).ok_or_else(odd)?);
            }
        } else if let Some(binding) = argument("binding") {
            buffers.insert(binding, buffer(rest, comment).ok_or_else(odd)?);
        } else {
            return Err(odd());
        }
    }
    Ok(Interface {
        buffers: complete("binding", buffers)?,
        push,
        spec: complete("constant", spec)?,
    })
}

/// Structures of a shared file.
pub fn structures(text: &str) -> Parsed<Vec<Structure>> {
    let mut list = Vec::new();
    let mut lines = active(text, &[])?.into_iter();
    let mut before = String::new();
    while let Some((_, line)) = lines.next() {
        let (code, comment) = split(line);
        if let Some(name) = code.strip_prefix("struct ").and_then(|rest| rest.strip_suffix('{')) {
            list.push(Structure {
                name: name.trim().to_owned(),
                comment: std::mem::take(&mut before),
                fields: block(&mut lines)?,
            });
        }
        before = if code.is_empty() {
            comment.to_owned()
        } else {
            String::new()
        };
    }
    Ok(list)
}

/// Constants for everyone: outside of functions and conditions, with a comment behind them. Those without are the
/// shader's own affair.
pub fn constants(text: &str) -> Vec<Constant> {
    let (mut conditions, mut braces) = (0, 0);
    let mut list = Vec::new();
    for line in text.lines() {
        let (code, comment) = split(line);
        if code.starts_with("#if") {
            conditions += 1;
        } else if code.starts_with("#endif") {
            conditions -= 1;
        } else if conditions == 0 && braces == 0 {
            list.extend(constant(code, comment));
        }
        braces += code.matches('{').count();
        braces -= code.matches('}').count().min(braces);
    }
    list
}

/// The module that a source can take the place of: `// kiln-like: rasterize.column`.
pub fn like(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix("// kiln-like:"))
        .map(str::trim)
}

/// The first sentence of the first comment that is no declaration.
pub fn summary(text: &str) -> String {
    let comments = text
        .lines()
        .skip_while(|line| comment_line(line).is_none())
        .take_while(|line| comment_line(line).is_some_and(|comment| !comment.is_empty()))
        .filter_map(comment_line);
    let paragraph = comments.collect::<Vec<_>>().join(" ");
    // A sentence ends where the next begins: `eq. 3` and `et al. 2023` do not end one.
    let end = paragraph
        .match_indices(". ")
        .map(|(at, _)| at)
        .find(|at| paragraph[at + 2..].starts_with(|c: char| c.is_uppercase() || c == '`'));
    let sentence = &paragraph[..end.unwrap_or(paragraph.len())];
    sentence.trim_end_matches(['.', ':']).to_owned() + "."
}

/// A line that is a comment and no `kiln-` declaration.
fn comment_line(line: &str) -> Option<&str> {
    let comment = line.strip_prefix("//")?.trim();
    (!comment.starts_with("kiln-")).then_some(comment)
}

fn constant(code: &str, comment: &str) -> Option<Constant> {
    let (name, value) = match code.strip_prefix("#define ") {
        Some(rest) => rest.split_once(' ')?,
        None => code.strip_prefix("const uint ")?.strip_suffix(';')?.split_once(" = ")?,
    };
    let value = value.strip_suffix('u')?;
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let literal = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    (literal && !comment.is_empty()).then(|| Constant {
        name: name.to_owned(),
        value: value.to_owned(),
        comment: comment.to_owned(),
    })
}

/// The lines that the preprocessor leaves of a source with `defines`, with their numbers; includes are not followed.
fn active<'a>(text: &'a str, defines: &[String]) -> Parsed<Vec<(usize, &'a str)>> {
    let mut defined: BTreeSet<&str> = defines.iter().map(|d| d.split('=').next().unwrap_or(d)).collect();
    // For each open condition: one of its branches was taken, and the present one is.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (code, _) = split(line);
        let (word, rest) = code.split_once(' ').unwrap_or((code, ""));
        let within = |open: &[(bool, bool)]| open.iter().all(|(_, taken)| *taken);
        match word {
            "#ifdef" | "#ifndef" => {
                let taken = defined.contains(rest.trim()) == (word == "#ifdef");
                open.push((taken, taken));
            }
            "#if" => {
                let taken = condition(rest, &defined).ok_or(format!("line {number}: `{code}` is not understood"))?;
                open.push((taken, taken));
            }
            "#elif" | "#else" => {
                let holds = word == "#else"
                    || condition(rest, &defined).ok_or(format!("line {number}: `{code}` is not understood"))?;
                let (before, _) = open.pop().ok_or(format!("line {number}: `{code}` without `#if`"))?;
                open.push((before || holds, !before && holds));
            }
            "#endif" => {
                open.pop().ok_or(format!("line {number}: `#endif` without `#if`"))?;
            }
            "#define" if within(&open) => {
                defined.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            }
            _ if within(&open) => lines.push((number, line)),
            _ => {}
        }
    }
    Ok(lines)
}

/// `defined(A) || defined(B)`.
fn condition(text: &str, defined: &BTreeSet<&str>) -> Option<bool> {
    let mut any = false;
    for part in text.split("||") {
        any |= defined.contains(part.trim().strip_prefix("defined(")?.strip_suffix(')')?);
    }
    Some(any)
}

/// Code and comment of a line.
fn split(line: &str) -> (&str, &str) {
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    (code.trim(), comment.trim())
}

/// The fields up to the end of a block.
fn block<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Parsed<Vec<Field>> {
    let mut fields = Vec::new();
    for (number, line) in lines {
        let (code, comment) = split(line);
        if code == "};" {
            return Ok(fields);
        }
        if !code.is_empty() {
            fields.push(field(code, comment).ok_or(format!("line {number}: `{code}` is not a field"))?);
        }
    }
    Err("a block without an end".to_owned())
}

/// `vec4 name;`, `uint name[4];` or, of a constant, `uint NAME`.
fn field(code: &str, comment: &str) -> Option<Field> {
    let (kind, name) = code.trim().trim_end_matches(';').split_once(' ')?;
    let (name, count) = match name.split_once('[') {
        Some((name, length)) => (name, Some(length.strip_suffix(']')?.parse().ok()?)),
        None => (name, None),
    };
    name.chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_')
        .then(|| Field {
            name: name.to_lowercase(),
            kind: kind.to_owned(),
            count,
            comment: comment.to_owned(),
        })
}

/// `readonly restrict buffer Name { uint words[]; };`.
fn buffer(code: &str, comment: &str) -> Option<Buffer> {
    let (head, rest) = code.split_once('{')?;
    let (qualifiers, name) = head.trim().rsplit_once(' ')?;
    let members = rest.trim().strip_suffix("};")?;
    let types = members.split(';').map(str::trim).filter(|member| !member.is_empty());
    let types = types.map(|member| {
        let (kind, name) = member.split_once(' ')?;
        Some(format!("{kind}{}", name.find('[').map_or("", |at| &name[at..])))
    });
    let says = |word: &str| qualifiers.split(' ').any(|q| q == word);
    says("buffer").then_some(Buffer {
        name: snake(name.strip_suffix("Block").unwrap_or(name)),
        access: match (says("readonly"), says("writeonly")) {
            (true, _) => Access::Read,
            (_, true) => Access::Write,
            _ => Access::ReadWrite,
        },
        types: types.collect::<Option<_>>()?,
        comment: comment.to_owned(),
    })
}

/// `Filter3dApply` to `filter_3d_apply`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    let mut last = '_';
    for c in name.chars() {
        if last != '_' && (c.is_uppercase() || (c.is_ascii_digit() && !last.is_ascii_digit())) {
            text.push('_');
        }
        text.extend(c.to_lowercase());
        last = c;
    }
    text
}

/// The values in order, when their numbers are 0, 1, 2, ...
fn complete<T>(what: &str, numbered: BTreeMap<usize, T>) -> Parsed<Vec<T>> {
    match (0..).zip(numbered.keys()).find(|(wanted, found)| wanted != *found) {
        Some((wanted, _)) => Err(format!("{what} {wanted} is missing")),
        None => Ok(numbered.into_values().collect()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const SOURCE: &str = "\
#version 450
// kiln-variant: -
// Blends splats (Kerbl et al. 2023, eq. 3). Then rests.
#if defined(A) || defined(B)
#define WIDE 1
#endif
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint OWNERS = 0u;  // 1: with owners
layout(constant_id = 31) const uint LOCKSTEP = 0u;
layout(set = 0, binding = 0, std430) readonly restrict buffer Rates { StepUniforms u; vec4 rates[]; };
#ifdef WIDE
layout(set = 0, binding = 1, std430) writeonly restrict buffer Filter3d { float filter_3d[]; };  // px
#else
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
#endif
layout(push_constant) uniform Push {
    uint stride;
#ifdef WIDE
    float limit;  // world units
#endif
};
";

    #[test]
    fn an_interface_is_that_of_its_variant() {
        let plain = interface(SOURCE, &[]).unwrap();
        let names = |i: &Interface| i.buffers.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&plain), ["rates", "counters"]);
        assert_eq!(plain.buffers[0].types, ["StepUniforms", "vec4[]"]);
        assert_eq!(plain.buffers[1].access, Access::ReadWrite);
        assert_eq!((plain.push.len(), plain.spec.len()), (1, 1));
        assert_eq!(
            (plain.spec[0].name.as_str(), plain.spec[0].comment.as_str()),
            ("owners", "1: with owners")
        );
        let wide = interface(SOURCE, &["B=1".to_owned()]).unwrap();
        assert_eq!(names(&wide), ["rates", "filter_3d"]);
        assert_eq!(
            (wide.buffers[1].access, wide.buffers[1].comment.as_str()),
            (Access::Write, "px")
        );
        assert_eq!(
            (wide.push[1].name.as_str(), wide.push[1].kind.as_str()),
            ("limit", "float")
        );
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let refused = |text: &str| interface(text, &[]).unwrap_err();
        assert!(refused("\nlayout(set = 0, binding = 1) buffer A { uint a[]; };").contains("binding 0 is missing"));
        assert!(refused("#if WIDE > 3").contains("line 1"));
        assert!(refused("layout(set = 0, binding = 0) uniform sampler2D a;").contains("line 1"));
        assert!(refused("layout(push_constant) uniform Push {\n uint a;").contains("end"));
    }

    #[test]
    fn structures_and_constants_of_shared_files() {
        let text = "// One.\nstruct A {\n    vec4 row;  // first\n    uint bins[512];\n};\nconst uint MARK = 0x80u;  // top\n\
                    #define PLANE 10u // tenth\nconst uint B = MARK + 1u;  // not a literal\nconst uint OWN = 3u;\n#ifdef X\nconst uint C = 1u;  // under a condition\n#endif\nvoid f() {\n    const uint D = 2u;  // in a function\n}\n";
        let [a] = &structures(text).unwrap()[..] else {
            unreachable!("one structure")
        };
        assert_eq!(
            (a.name.as_str(), a.comment.as_str(), a.fields[1].count),
            ("A", "One.", Some(512))
        );
        let [mark, plane] = &constants(text)[..] else {
            unreachable!("two constants")
        };
        assert_eq!(
            (mark.name.as_str(), mark.value.as_str(), mark.comment.as_str()),
            ("MARK", "0x80", "top")
        );
        assert_eq!((plane.name.as_str(), plane.value.as_str()), ("PLANE", "10"));
    }

    #[test]
    fn the_summary_is_one_sentence() {
        assert_eq!(summary(SOURCE), "Blends splats (Kerbl et al. 2023, eq. 3).");
        assert_eq!(like("// kiln-like: a.b\n"), Some("a.b"));
        assert_eq!(snake("Filter3dApply"), "filter_3d_apply");
    }
}
