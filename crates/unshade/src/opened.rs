//! A GPU program that was found, opened: the common view of all formats.

use crate::carve::Find;
use crate::format::Format;
use crate::nv_units::Nvidia;
use crate::program::NamedLibrary;
use unshade_core::{Diagnostics, Error, ErrorKind, OutlineSink, Reader, Result};
use unshade_dxcontainer::Container;
use unshade_metallib::universal::SliceContent;
use unshade_metallib::{Library, Universal, outline};
use unshade_nv::{Cubin, Fatbin, Ptx};

/// An opened program.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and boxing it would cost callers a pattern"
)]
pub enum Opened<'a> {
    /// A Metal library.
    Library(Library<'a>),
    /// A universal file of Metal libraries and GPU code.
    Universal(Universal<'a>),
    /// A DirectX shader container.
    DxContainer(Container<'a>),
    /// A CUDA fat binary.
    Fatbin(Fatbin<'a>),
    /// A cubin.
    Cubin(Cubin<'a>),
    /// PTX.
    Ptx(Ptx<'a>),
    /// A token program of Shader Model 1 to 3.
    Direct3d9(Reader<'a>),
}

impl<'a> Opened<'a> {
    /// Opens what was found. Offsets in errors are those of the file if it stands there as it is, and of the unpacked
    /// member otherwise.
    ///
    /// # Errors
    /// Its header can't be read.
    pub fn open(find: &Find<'a>) -> Result<Self> {
        let base = find.file_offset.unwrap_or(find.path.offset());
        match find.format {
            Format::MetalUniversal => Universal::parse_at(find.data, base).map(Self::Universal),
            Format::DxContainer => Container::read(Reader::at(find.data, base)).map(Self::DxContainer),
            Format::Fatbin => Fatbin::read(Reader::at(find.data, base)).map(Self::Fatbin),
            Format::Cubin => Cubin::read(Reader::at(find.data, base)).map(Self::Cubin),
            Format::Ptx => Ok(Self::Ptx(Ptx::new(Reader::at(find.data, base)))),
            Format::Direct3d9 => Ok(Self::Direct3d9(Reader::at(find.data, base))),
            Format::MetalLibrary => Library::parse_at(find.data, base).map(Self::Library),
            Format::Bitcode | Format::Registered(_) => {
                let message = "this is LLVM bitcode without a container";
                Err(Error::new(ErrorKind::Unsupported, base, message).hint("`unshade dis` lists its modules"))
            }
        }
    }

    /// The Metal libraries in it; what can't be read of the slices goes to `diagnostics`.
    pub fn libraries(&self, diagnostics: &mut Diagnostics) -> Vec<NamedLibrary<'a>> {
        let universal = match self {
            Self::Library(library) => {
                return vec![NamedLibrary { slice: String::new(), library: library.clone() }];
            }
            Self::Universal(universal) => universal,
            _ => return Vec::new(),
        };
        let mut libraries = Vec::new();
        for slice in universal.slices() {
            let Some(slice) = diagnostics.take("slice", slice) else { continue };
            let within = |error: Error| error.within(slice.name());
            let library = match diagnostics.take("slice", slice.content().map_err(within)) {
                Some(SliceContent::Library(library)) => Some(library),
                Some(SliceContent::GpuObject(object)) => {
                    diagnostics.take("slice", object.library().map_err(within)).flatten()
                }
                _ => None,
            };
            libraries.extend(library.map(|library| NamedLibrary { slice: slice.name(), library }));
        }
        libraries
    }

    /// Returns it as an NVIDIA program, if it is one.
    pub fn nvidia(&self) -> Option<Nvidia<'a>> {
        match self {
            Self::Fatbin(fatbin) => Some(Nvidia::Fatbin(*fatbin)),
            Self::Cubin(cubin) => Some(Nvidia::Cubin(cubin.clone())),
            Self::Ptx(ptx) => Some(Nvidia::Ptx(*ptx)),
            _ => None,
        }
    }

    /// Emits what stands at every byte of it.
    pub fn outline(&self, sink: &mut dyn OutlineSink) {
        match self {
            Self::Library(library) => outline::library(library, sink),
            Self::Universal(universal) => outline::universal(universal, sink),
            Self::DxContainer(container) => unshade_dxcontainer::outline::container(container, sink),
            Self::Fatbin(fatbin) => unshade_nv::outline::fatbin(fatbin, sink),
            Self::Cubin(cubin) => unshade_nv::outline::cubin(cubin, sink),
            Self::Ptx(ptx) => unshade_nv::outline::ptx(ptx, sink),
            Self::Direct3d9(data) => crate::d3d9_outline::program(*data, sink),
        }
    }
}
