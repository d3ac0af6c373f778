//! Architectures of the slices of a universal file, and their names.
//!
//! Source of the names and numbers: the table in Apple's version of `file` (`readmacho`), up to AIR 2.6 and the Apple GPU
//! `g16p`. Real binary archives of AIR 2.8 have subtype 12, so the numbers go on; 2.7 and 2.9 are concluded from that.

use crate::function_list::ShortVersion;
use crate::universal::CpuType;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// The architecture of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Architecture {
    /// The family.
    pub cpu_type: CpuType,
    /// The member of the family: a version of AIR, a generation of GPUs.
    pub cpu_subtype: u32,
}

/// A family of architectures.
struct Family {
    cpu_type: CpuType,
    /// The beginning of the names of its members.
    prefix: &'static str,
    /// The numbers of the known members, with the rest of their names.
    members: &'static [(u32, &'static str)],
}

const FAMILIES: &[Family] = &[
    Family {
        cpu_type: CpuType::AIR64,
        prefix: "air64_v",
        members: &[
            (1, "16"),
            (2, "18"),
            (3, "111"),
            (4, "20"),
            (5, "21"),
            (6, "22"),
            (7, "23"),
            (8, "24"),
            (9, "25"),
            (10, "26"),
            (11, "27"),
            (12, "28"),
            (13, "29"),
        ],
    },
    Family {
        cpu_type: CpuType::APPLE_GPU,
        prefix: "applegpu_",
        members: &[
            (17, "g4p"),
            (32, "gx2"),
            (34, "g10p"),
            (49, "g4g"),
            (65, "g5p"),
            (81, "g9p"),
            (82, "g11m"),
            (97, "g9g"),
            (114, "g11p"),
            (130, "g11g"),
            (210, "g12p"),
            (275, "g15g"),
            (290, "g13p"),
            (322, "g13g"),
            (370, "g14p"),
            (402, "g14g"),
            (419, "g15s"),
            (434, "g14s"),
            (435, "g16p"),
            (498, "g14d"),
            (530, "g13s"),
            (562, "g13c"),
            (594, "g13d"),
            (610, "g15p"),
            (1602, "g11g_8fstp"),
        ],
    },
    Family {
        cpu_type: CpuType::AMD_GPU,
        prefix: "amdgpu_",
        members: &[
            (4000, "gfx600"),
            (4001, "gfx600_nwh"),
            (4002, "gfx701"),
            (4003, "gfx704"),
            (4004, "gfx803"),
            (4005, "gfx802"),
            (5000, "gfx900"),
            (5001, "gfx904"),
            (5002, "gfx906"),
            (6000, "gfx1010_nsgc"),
            (6001, "gfx1010"),
            (6002, "gfx1011"),
            (6003, "gfx1012"),
            (6004, "gfx1030"),
            (6005, "gfx1032"),
        ],
    },
    Family {
        cpu_type: CpuType::INTEL_GPU,
        prefix: "intelgpu_",
        members: &[
            (590_342, "skl_gt2r6"),
            (590_343, "skl_gt2r7"),
            (590_602, "skl_gt3r10"),
            (1_115_655, "icl_1x6x8r7"),
            (1_116_167, "icl_1x8x8r7"),
            (9_765_376, "kbl_gt2r0"),
            (9_765_378, "kbl_gt2r2"),
            (9_765_380, "kbl_gt2r4"),
            (9_765_633, "kbl_gt3r1"),
            (9_765_638, "kbl_gt3r6"),
        ],
    },
];

impl Architecture {
    /// Returns the architecture of a version of AIR, if its number is known.
    ///
    /// ```
    /// use unshade_metallib::architecture::Architecture;
    /// use unshade_metallib::function_list::ShortVersion;
    ///
    /// let air = Architecture::of_air(ShortVersion { major: 2, minor: 8 }).unwrap();
    /// assert_eq!((air.cpu_subtype, air.name().as_deref()), (12, Some("air64_v28")));
    /// ```
    pub fn of_air(version: ShortVersion) -> Option<Self> {
        Self::from_name(&format!("air64_v{}{}", version.major, version.minor))
    }

    /// Returns the name that Apple's tools use, such as `air64_v28`.
    pub fn name(self) -> Option<String> {
        let family = FAMILIES.iter().find(|family| family.cpu_type == self.cpu_type)?;
        let (_, member) = family.members.iter().find(|(number, _)| *number == self.cpu_subtype)?;
        Some(format!("{}{member}", family.prefix))
    }

    /// Returns the architecture with this name: that of Apple's tools, or family and number as this type prints them.
    pub fn from_name(name: &str) -> Option<Self> {
        let known = FAMILIES.iter().find_map(|family| {
            let member = name.strip_prefix(family.prefix)?;
            let (cpu_subtype, _) = family.members.iter().find(|(_, known)| *known == member)?;
            Some(Self { cpu_type: family.cpu_type, cpu_subtype: *cpu_subtype })
        });
        known.or_else(|| {
            let (family, number) = name.rsplit_once(".0x")?;
            Some(Self {
                cpu_type: CpuType::from_name(family)?,
                cpu_subtype: u32::from_str_radix(number, 16).ok()?,
            })
        })
    }
}

/// Prints family and number, such as `air64.0xc`.
impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:#x}", self.cpu_type, self.cpu_subtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for family in FAMILIES {
            for (cpu_subtype, _) in family.members {
                let one = Architecture { cpu_type: family.cpu_type, cpu_subtype: *cpu_subtype };
                assert_eq!(Architecture::from_name(&one.name().unwrap()), Some(one));
                assert_eq!(Architecture::from_name(&one.to_string()), Some(one));
            }
            assert!(family.members.is_sorted_by_key(|(number, _)| *number));
        }
        let unknown = Architecture::from_name("Apple GPU.0x163").unwrap();
        assert_eq!((unknown.cpu_subtype, unknown.name()), (0x163, None));
        for odd in ["", "air64", "air64_v", "air64_v99", "air64.0x", "air64.12", "arm64.0x1"] {
            assert_eq!(Architecture::from_name(odd), None, "{odd}");
        }
    }
}
