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
            #[cfg(test)]
            pub(crate) fn all() -> Vec<Self> {
                let mut all = Vec::new();
                $(vocabulary!(@all all, Self::$member $(, $($part: $of),+)?);)*
                all
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
    (@all $all:ident, $member:expr) => {
        $all.push($member)
    };
    (@all $all:ident, $member:expr, $a:ident: $one:ty) => {
        $all.extend(<$one>::all().into_iter().map($member))
    };
    (@all $all:ident, $member:expr, $a:ident: $one:ty, $b:ident: $two:ty) => {
        for $a in <$one>::all() {
            $all.extend(<$two>::all().into_iter().map(|$b| $member($a, $b)));
        }
    };
    (@all $all:ident, $member:expr, $a:ident: $one:ty, $b:ident: $two:ty, $c:ident: $three:ty) => {
        for $a in <$one>::all() {
            for $b in <$two>::all() {
                $all.extend(<$three>::all().into_iter().map(|$c| $member($a, $b, $c)));
            }
        }
    };
}

pub(crate) use vocabulary;
