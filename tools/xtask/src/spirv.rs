//! Just enough of SPIR-V to compare a module with its GLSL: which bindings it reads and writes, where the members of its
//! blocks lie, which specialisation constants it has. Optimised modules have no names; those are in the source.

use std::collections::{BTreeMap, BTreeSet};

const TYPE_INT: u16 = 21;
const TYPE_FLOAT: u16 = 22;
const TYPE_VECTOR: u16 = 23;
const TYPE_ARRAY: u16 = 28;
const TYPE_RUNTIME_ARRAY: u16 = 29;
const TYPE_STRUCT: u16 = 30;
const TYPE_POINTER: u16 = 32;
const CONSTANT: u16 = 43;
const VARIABLE: u16 = 59;
const LOAD: u16 = 61;
const STORE: u16 = 62;
const ACCESS_CHAINS: [u16; 2] = [65, 66];
const DECORATE: u16 = 71;
const MEMBER_DECORATE: u16 = 72;
const ATOMICS: std::ops::RangeInclusive<u16> = 227..=242;
const ATOMIC_FLOAT_ADD: u16 = 6035;

const SPEC_ID: u32 = 1;
const BINDING: u32 = 33;
const OFFSET: u32 = 35;
const ARRAY_STRIDE: u32 = 6;
const NON_WRITABLE: u32 = 24;
const NON_READABLE: u32 = 25;
const PUSH_CONSTANT: u32 = 9;

/// How a module uses one binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Declared without `writeonly`.
    pub readable: bool,
    /// Declared without `readonly`.
    pub writable: bool,
    /// Some instruction reads it.
    pub reads: bool,
    /// Some instruction writes it.
    pub writes: bool,
    /// For each member of the block the structure that it is, or is an array of.
    pub structures: Vec<Option<Structure>>,
}

/// Layout of a structure in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// (byte offset, byte size) of the members.
    pub members: Vec<(u32, u32)>,
    /// Bytes from one to the next where the block holds an array of them.
    pub stride: Option<u32>,
}

/// What a module says about itself.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// By binding number.
    pub bindings: BTreeMap<u32, Use>,
    /// (byte offset, byte size) of the push constants' members.
    pub push: Vec<(u32, u32)>,
    /// Ids of specialisation constants.
    pub spec: BTreeSet<u32>,
}

#[derive(Default)]
struct Tables {
    types: BTreeMap<u32, (u16, Vec<u32>)>,
    constants: BTreeMap<u32, u32>,
    variables: BTreeMap<u32, (u32, u32)>,
    decorations: BTreeMap<(u32, u32), u32>,
    members: BTreeMap<(u32, u32, u32), u32>,
    /// Access chains: id to base.
    chains: BTreeMap<u32, u32>,
    reads: BTreeSet<u32>,
    writes: BTreeSet<u32>,
}

impl Tables {
    fn read(words: &[u32]) -> Self {
        let mut t = Self::default();
        let mut at = 5;
        while at < words.len() {
            let (length, opcode) = ((words[at] >> 16) as usize, (words[at] & 0xffff) as u16);
            assert!(length > 0, "an instruction of no words at {at}");
            let w = &words[at..at + length];
            match opcode {
                TYPE_INT | TYPE_FLOAT | TYPE_VECTOR | TYPE_ARRAY | TYPE_RUNTIME_ARRAY | TYPE_STRUCT | TYPE_POINTER => {
                    t.types.insert(w[1], (opcode, w[2..].to_vec()));
                }
                CONSTANT => {
                    t.constants.insert(w[2], w[3]);
                }
                VARIABLE => {
                    t.variables.insert(w[2], (w[1], w[3]));
                }
                DECORATE => {
                    t.decorations.insert((w[1], w[2]), w.get(3).copied().unwrap_or(0));
                }
                MEMBER_DECORATE => {
                    t.members.insert((w[1], w[2], w[3]), w.get(4).copied().unwrap_or(0));
                }
                LOAD => {
                    t.reads.insert(w[3]);
                }
                STORE => {
                    t.writes.insert(w[1]);
                }
                _ if ACCESS_CHAINS.contains(&opcode) => {
                    t.chains.insert(w[2], w[3]);
                }
                _ if ATOMICS.contains(&opcode) || opcode == ATOMIC_FLOAT_ADD => {
                    // The pointer is the third operand, except for the store, where it is the first.
                    let pointer = if opcode == 228 { w[1] } else { w[3] };
                    t.reads.insert(pointer);
                    t.writes.insert(pointer);
                }
                _ => {}
            }
            at += length;
        }
        t
    }

    /// The variable behind a pointer.
    fn root(&self, mut pointer: u32) -> u32 {
        while let Some(base) = self.chains.get(&pointer) {
            pointer = *base;
        }
        pointer
    }

    fn size(&self, id: u32) -> u32 {
        match &self.types[&id] {
            (TYPE_INT | TYPE_FLOAT, operands) => operands[0] / 8,
            (TYPE_VECTOR, operands) => operands[1] * self.size(operands[0]),
            (TYPE_ARRAY, operands) => self.constants[&operands[1]] * self.size(operands[0]),
            (TYPE_STRUCT, _) => self.fields(id).last().map_or(0, |(offset, size)| offset + size),
            _ => 0,
        }
    }

    fn fields(&self, structure: u32) -> Vec<(u32, u32)> {
        let (_, operands) = &self.types[&structure];
        (0..)
            .zip(operands)
            .map(|(i, field)| (self.members[&(structure, i, OFFSET)], self.size(*field)))
            .collect()
    }

    /// The structure that `id` is, or is an array of.
    fn structure(&self, id: u32) -> Option<Structure> {
        match &self.types[&id] {
            (TYPE_STRUCT, _) => Some(Structure {
                members: self.fields(id),
                stride: None,
            }),
            (TYPE_RUNTIME_ARRAY, operands) if self.types[&operands[0]].0 == TYPE_STRUCT => Some(Structure {
                members: self.fields(operands[0]),
                stride: self.decorations.get(&(id, ARRAY_STRIDE)).copied(),
            }),
            _ => None,
        }
    }

    /// The type a variable points to.
    fn pointee(&self, variable: u32) -> u32 {
        self.types[&self.variables[&variable].0].1[1]
    }
}

/// Reads a module.
///
/// # Panics
/// When it is not SPIR-V.
#[must_use]
pub fn reflect(bytes: &[u8]) -> Module {
    let words: Vec<u32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w))
        .collect();
    assert_eq!(words[0], 0x0723_0203, "not SPIR-V");
    let t = Tables::read(&words);
    let mut module = Module {
        spec: t
            .decorations
            .iter()
            .filter(|((_, d), _)| *d == SPEC_ID)
            .map(|(_, id)| *id)
            .collect(),
        ..Module::default()
    };
    let reads: BTreeSet<u32> = t.reads.iter().map(|p| t.root(*p)).collect();
    let writes: BTreeSet<u32> = t.writes.iter().map(|p| t.root(*p)).collect();
    for (&variable, &(_, class)) in &t.variables {
        if class == PUSH_CONSTANT {
            module.push = t.fields(t.pointee(variable));
        }
        let Some(binding) = t.decorations.get(&(variable, BINDING)) else {
            continue;
        };
        let block = t.pointee(variable);
        let declared = |decoration: u32| {
            t.decorations.contains_key(&(variable, decoration)) || t.members.contains_key(&(block, 0, decoration))
        };
        let found = Use {
            readable: !declared(NON_READABLE),
            writable: !declared(NON_WRITABLE),
            reads: reads.contains(&variable),
            writes: writes.contains(&variable),
            structures: t.types[&block].1.iter().map(|member| t.structure(*member)).collect(),
        };
        assert!(
            module.bindings.insert(*binding, found).is_none(),
            "binding {binding} twice"
        );
    }
    module
}
