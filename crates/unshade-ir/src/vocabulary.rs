//! Enumerations whose members have a name in the textual form.

/// Declares an enumeration with one row per member: documentation, name, parts, and name in the textual form. The
/// parts of a member are members of other such enumerations; their names follow after dots.
macro_rules! vocabulary {
    (
        $(#[$outer:meta])*
        $kind:ident {
            $($(#[$doc:meta])* $member:ident $(($($part:ident: $of:ty),+))? $text:literal,)*
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $($(#[$doc])* $member $(($($of),+))?,)*
        }

        impl $kind {
            /// Returns the member with a name, whose parts are taken from the list of words.
            pub(crate) fn by_words<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
                Some(match words.next()? {
                    $($text => Self::$member $(($(<$of>::by_words(words)?),+))?,)*
                    _ => return None,
                })
            }

            /// Returns the member with a name.
            pub fn by_name(name: &str) -> Option<Self> {
                let mut words = name.split('.');
                Self::by_words(&mut words).filter(|_| words.next().is_none())
            }

            /// Returns all members.
            pub fn all() -> Vec<Self> {
                [$(vocabulary!(@all Self::$member $(, $($part: $of),+)?)),*].concat()
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$member $(($($part),+))? => {
                        f.write_str($text)?;
                        $($(write!(f, ".{}", $part)?;)+)?
                        Ok(())
                    })*
                }
            }
        }
    };
    (@all $member:expr) => {
        vec![$member]
    };
    (@all $member:expr, $a:ident: $one:ty) => {
        <$one>::all().into_iter().map($member).collect()
    };
    (@all $member:expr, $a:ident: $one:ty, $b:ident: $two:ty) => {{
        let each = |$a| <$two>::all().into_iter().map(move |$b| $member($a, $b));
        <$one>::all().into_iter().flat_map(each).collect()
    }};
    (@all $member:expr, $a:ident: $one:ty, $b:ident: $two:ty, $c:ident: $three:ty) => {{
        let each = |$a, $b| <$three>::all().into_iter().map(move |$c| $member($a, $b, $c));
        <$one>::all().into_iter().flat_map(|$a| <$two>::all().into_iter().flat_map(move |$b| each($a, $b))).collect()
    }};
}

pub(crate) use vocabulary;
