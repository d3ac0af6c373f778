//! Parts with only a few fields: HASH, ILDN, VERS, SFI0.
//!
//! | part | layout |
//! |---|---|
//! | HASH | u32 flags (1: includes the source, from `-Zss`), 16 bytes MD5 of the bitcode |
//! | ILDN | u16 flags, u16 length of the name, name, NUL, zero padding to a multiple of 4 |
//! | VERS | u16 major, u16 minor, u32 flags (1 debug build, 2 internal), u32 commits, u32 size, commit NUL version NUL, zeros |
//! | SFI0 | u64 feature flags of the program |
//!
//! Sources: DXC's `DxilContainer.h`; real files.

use crate::bytes::{Bytes, Text, len32};
use crate::cursor::Cursor;
use crate::scalar::{Scalar, model, record};
use alloc::vec::Vec;
use unshade_core::Result;

record! {
    /// HASH: the hash of the program's bitcode.
    pub struct ShaderHash {
        /// 1 if the hash includes the source.
        pub flags: u32 => "Flags",
        /// The MD5 of the bitcode.
        pub digest: [u8; 16] => "Digest",
    }
}

impl ShaderHash {
    /// The flag of a hash that includes the source, which therefore cannot be checked against the bitcode.
    pub const INCLUDES_SOURCE: u32 = 1;
}

model! {
    /// ILDN: the name of the debug information file.
    pub struct DebugName {
        /// 0.
        pub flags: u16 => "Flags",
        /// The declared length of the name.
        pub name_length: u16 => "NameLength",
        /// The name.
        pub name: Text => "Name",
        /// NUL and padding.
        pub tail: Bytes => "Tail",
    }
}

impl DebugName {
    /// Creates a part with a name.
    pub fn new(name: Text) -> Self {
        let name_length = u16::try_from(name.0.len()).unwrap_or(u16::MAX);
        let end = name.0.len().saturating_add(1);
        let padding = end.wrapping_neg() % 4;
        Self { flags: 0, name_length, name, tail: Bytes(alloc::vec![0; padding.saturating_add(1)]) }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let flags = cursor.scalar("flags")?;
        let name_length: u16 = cursor.scalar("name length")?;
        let name = cursor.text_of(usize::from(name_length), "name")?;
        Ok(Self { flags, name_length, name, tail: Bytes::from(cursor.rest("NUL and padding")?) })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.flags.put(&mut out);
        self.name_length.put(&mut out);
        out.extend_from_slice(&self.name.0);
        out.extend_from_slice(&self.tail.0);
        out
    }
}

model! {
    /// VERS: the compiler that made the container.
    pub struct CompilerVersion {
        /// The major version.
        pub major: u16 => "Major",
        /// The minor version.
        pub minor: u16 => "Minor",
        /// 1 debug build, 2 internal build.
        pub flags: u32 => "Flags",
        /// The number of commits on the compiler's branch.
        pub commit_count: u32 => "CommitCount",
        /// The size of both strings with their NULs.
        pub content_size: u32 => "ContentSize",
        /// The commit hash.
        pub commit: Text => "Commit",
        /// The version string.
        pub version: Text => "Version",
        /// Padding.
        pub tail: Bytes => "Tail",
    }
}

impl CompilerVersion {
    /// Creates a part with these values and its padding.
    pub fn new(version: (u16, u16), flags: u32, commit_count: u32, commit: Text, text: Text) -> Self {
        let size = commit.0.len().saturating_add(text.0.len()).saturating_add(2);
        let tail = Bytes(alloc::vec![0; size.wrapping_neg() % 4]);
        Self {
            major: version.0,
            minor: version.1,
            flags,
            commit_count,
            content_size: len32(size),
            commit,
            version: text,
            tail,
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        Ok(Self {
            major: cursor.scalar("major")?,
            minor: cursor.scalar("minor")?,
            flags: cursor.scalar("flags")?,
            commit_count: cursor.scalar("commit count")?,
            content_size: cursor.scalar("content size")?,
            commit: cursor.text("commit")?,
            version: cursor.text("version")?,
            tail: Bytes::from(cursor.rest("padding")?),
        })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.major.put(&mut out);
        self.minor.put(&mut out);
        self.flags.put(&mut out);
        self.commit_count.put(&mut out);
        self.content_size.put(&mut out);
        for text in [&self.commit, &self.version] {
            out.extend_from_slice(&text.0);
            out.push(0);
        }
        out.extend_from_slice(&self.tail.0);
        out
    }
}

record! {
    /// SFI0: the features that a program uses.
    pub struct FeatureInfo {
        /// One bit per feature, see [`FEATURES`].
        pub flags: u64 => "Flags",
    }
}

impl FeatureInfo {
    /// Returns the bits that are set, and the features of those that are known.
    pub fn features(&self) -> impl Iterator<Item = (u32, Option<&'static Feature>)> + '_ {
        (0..64u32).filter(|bit| self.flags >> bit & 1 != 0).map(|bit| (bit, FEATURES.get(bit as usize)))
    }
}

/// A shader feature.
#[derive(Debug)]
pub struct Feature {
    /// LLVM's name.
    pub name: &'static str,
    /// A description.
    pub text: &'static str,
    /// The text in DXC's listing.
    pub dxc_text: &'static str,
}

/// Bits from here on are informational; they do not require anything.
pub const OPTIONAL_FEATURES_SHIFT: u32 = 40;

/// The features from [`OPTIONAL_FEATURES_SHIFT`] on, with the text in DXC's listing.
pub const OPTIONAL_FEATURES: &[&str] = &["Function uses derivatives", "Function requires visible group"];

macro_rules! features {
    ($($name:literal => $text:literal, $dxc_text:literal,)*) => {
        /// The features, by bit.
        pub const FEATURES: &[Feature] = &[$(Feature { name: $name, text: $text, dxc_text: $dxc_text }),*];
    };
}

features! {
    "Doubles" => "Double-precision floating point", "Double-precision floating point",
    "ComputeShadersPlusRawAndStructuredBuffers" =>
        "Raw and structured buffers via shader model 4",
        "Raw and Structured buffers",
    "UAVsAtEveryStage" => "UAVs at every shader stage", "UAVs at every shader stage",
    "Max64UAVs" => "64 UAV slots", "64 UAV slots",
    "MinimumPrecision" => "Minimum-precision data types", "Minimum-precision data types",
    "DX11_1_DoubleExtensions" =>
        "Double-precision extensions for 11.1",
        "Double-precision extensions for 11.1",
    "DX11_1_ShaderExtensions" => "Shader extensions for 11.1", "Shader extensions for 11.1",
    "LEVEL9ComparisonFiltering" =>
        "Comparison filtering for feature level 9",
        "Comparison filtering for feature level 9",
    "TiledResources" => "Tiled resources", "Tiled resources",
    "StencilRef" => "Pixel shader output stencil reference", "PS Output Stencil Ref",
    "InnerCoverage" => "Pixel shader inner coverage", "PS Inner Coverage",
    "TypedUAVLoadAdditionalFormats" =>
        "Typed UAV loads of additional formats",
        "Typed UAV Load Additional Formats",
    "ROVs" => "Raster ordered UAVs", "Raster Ordered UAVs",
    "ViewportAndRTArrayIndexFromAnyShaderFeedingRasterizer" =>
        "Viewport or render target array index from any shader feeding the rasterizer",
        "SV_RenderTargetArrayIndex or SV_ViewportArrayIndex from any shader feeding rasterizer",
    "WaveOps" => "Wave level operations", "Wave level operations",
    "Int64Ops" => "64-bit integers", "64-Bit integer",
    "ViewID" => "View instancing", "View Instancing",
    "Barycentrics" => "Barycentrics", "Barycentrics",
    "NativeLowPrecision" => "Native low-precision data types", "Use native low precision",
    "ShadingRate" => "Shading rate", "Shading Rate",
    "Raytracing_Tier_1_1" => "Raytracing tier 1.1", "Raytracing tier 1.1 features",
    "SamplerFeedback" => "Sampler feedback", "Sampler feedback",
    "AtomicInt64OnTypedResource" => "64-bit atomics on typed resources", "64-bit Atomics on Typed Resources",
    "AtomicInt64OnGroupShared" => "64-bit atomics on group shared memory", "64-bit Atomics on Group Shared",
    "DerivativesInMeshAndAmpShaders" =>
        "Derivatives in mesh and amplification shaders",
        "Derivatives in mesh and amplification shaders",
    "ResourceDescriptorHeapIndexing" =>
        "Resource descriptor heap indexing",
        "Resource descriptor heap indexing",
    "SamplerDescriptorHeapIndexing" => "Sampler descriptor heap indexing", "Sampler descriptor heap indexing",
    "RESERVED" => "Reserved", "Wave Matrix",
    "AtomicInt64OnHeapResource" => "64-bit atomics on heap resources", "64-bit Atomics on Heap Resources",
    "AdvancedTextureOps" => "Advanced texture operations", "Advanced Texture Ops",
    "WriteableMSAATextures" => "Writeable multisampled textures", "Writeable MSAA Textures",
    "SampleCmpWithGradientOrBias" => "SampleCmp with gradient or bias", "SampleCmp with gradient or bias",
    "ExtendedCommandInfo" => "Extended command information", "Extended command info",
    "LinearAlgebra" => "Linear algebra", "Linear Algebra",
}
