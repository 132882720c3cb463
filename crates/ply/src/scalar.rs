//! Number types.

use std::array::from_fn;

/// The type of a property's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `char`
    I8,
    /// `uchar`
    U8,
    /// `short`
    I16,
    /// `ushort`
    U16,
    /// `int`
    I32,
    /// `uint`
    U32,
    /// `float`
    F32,
    /// `double`
    F64,
}

impl Scalar {
    /// The type of a name, of which each has two.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// The older of the two names, which every reader knows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// Bytes of a number.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// True for `float` and `double`.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The little-endian number `at` bytes into a row; every type's values are exact in f64.
    ///
    /// # Panics
    /// When the row ends before the number does.
    #[must_use]
    #[inline]
    pub fn read(self, row: &[u8], at: usize) -> f64 {
        match self {
            Self::I8 => f64::from(i8::from_le_bytes(from_fn(|i| row[at + i]))),
            Self::U8 => f64::from(row[at]),
            Self::I16 => f64::from(i16::from_le_bytes(from_fn(|i| row[at + i]))),
            Self::U16 => f64::from(u16::from_le_bytes(from_fn(|i| row[at + i]))),
            Self::I32 => f64::from(i32::from_le_bytes(from_fn(|i| row[at + i]))),
            Self::U32 => f64::from(u32::from_le_bytes(from_fn(|i| row[at + i]))),
            Self::F32 => f64::from(f32::from_le_bytes(from_fn(|i| row[at + i]))),
            Self::F64 => f64::from_le_bytes(from_fn(|i| row[at + i])),
        }
    }
}
