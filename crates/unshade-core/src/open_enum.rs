//! [`open_enum!`](crate::open_enum): enumerations that keep unknown values.

/// Declares a newtype over a raw number with named constants, so that a value without a name survives a round
/// trip. The text of each constant is the name that the format's documentation uses.
///
/// ```
/// unshade_core::open_enum! {
///     /// The platform that a library was built for.
///     pub struct Platform(u8) {
///         /// The Mac.
///         MACOS = 1 => "macOS",
///         IOS = 2 => "iOS",
///     }
/// }
/// assert_eq!(Platform(2), Platform::IOS);
/// assert_eq!(Platform::MACOS.to_string(), "macOS");
/// assert_eq!(Platform(0x85).to_string(), "0x85 (unknown)");
/// assert_eq!(Platform::from_name("iOS"), Some(Platform::IOS));
/// ```
#[macro_export]
macro_rules! open_enum {
    (
        $(#[$outer:meta])*
        pub struct $name:ident($raw:ty) {
            $($(#[$inner:meta])* $constant:ident = $value:literal => $text:literal,)*
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $raw);

        impl $name {
            $(
                $(#[$inner])*
                #[doc = concat!("`", stringify!($value), "`: ", $text, ".")]
                pub const $constant: Self = Self($value);
            )*

            /// Every value that has a name, in the order of the declaration.
            pub const NAMED: &'static [(Self, &'static str)] = &[$((Self($value), $text)),*];

            /// Returns the name, if the value has one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }

            /// Returns the value that has this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::NAMED.iter().find(|(_, text)| *text == name).map(|(value, _)| *value)
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => ::core::write!(f, "{:#x} (unknown)", self.0),
                }
            }
        }
    };
}
