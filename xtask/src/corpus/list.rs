//! The list of pinned packages, `xtask/corpus.tsv`: one package per line, columns separated by a tab, `#` starts a
//! comment line, and the first other line names the columns.

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail, ensure};

/// The columns, in order.
const COLUMNS: [&str; 11] = [
    "set", "registry", "name", "version", "platform", "python", "file", "size", "sha256", "licence",
    "contents",
];

/// The kind of GPU programs in a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Set {
    /// Apple `.metallib`.
    Metallib,
    /// Direct3D containers.
    Dx,
    /// CUDA fatbins and cubins.
    Cuda,
    /// Source packages whose C files are compiled to bitcode for which unshade was not tuned.
    C,
    /// The source packages of LLVM, for the bitcode in its tests.
    LlvmTests,
    /// All GPU programs. Source packages must be requested by name, as only Debian's apt-get fetches them.
    All,
}

impl Set {
    /// Returns whether its packages contain compiled GPU programs.
    pub(crate) fn is_gpu(self) -> bool {
        !matches!(self, Set::C | Set::LlvmTests)
    }
}

/// The origin of a package, which determines the client that downloads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Registry {
    /// Python wheels.
    Pypi,
    /// npm packages.
    Npm,
    /// Rust crates.
    Crates,
    /// Debian source packages; only the archive of the original is used.
    Debian,
}

/// Identifies a wheel by the machine and the Python that would install it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Wheel {
    /// A platform tag, such as `macosx_14_0_arm64`.
    pub(crate) platform: String,
    /// A Python version, such as `3.12`.
    pub(crate) python: String,
}

/// One line of the list.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Package {
    /// The kind of programs in it.
    pub(crate) set: Set,
    /// The registry.
    pub(crate) registry: Registry,
    /// The name in the registry.
    pub(crate) name: String,
    /// The version.
    pub(crate) version: String,
    /// The wheel of this version; `None` if a version has a single file.
    pub(crate) wheel: Option<Wheel>,
    /// The name of the file.
    pub(crate) file: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Its SHA-256 in lower-case hexadecimal.
    pub(crate) sha256: String,
    /// What programs are in it.
    pub(crate) contents: String,
}

/// Parses and validates the whole list.
pub(crate) fn parse(text: &str) -> Result<Vec<Package>> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (_, header) = lines.next().context("the list is empty")?;
    ensure!(header.split('\t').eq(COLUMNS), "the columns must be: {}", COLUMNS.join(", "));
    let mut files = HashSet::new();
    lines
        .map(|(index, line)| {
            let package = parse_line(line).with_context(|| format!("line {}", index + 1))?;
            ensure!(
                files.insert(package.file.clone()),
                "line {}: {} is there twice",
                index + 1,
                package.file
            );
            Ok(package)
        })
        .collect()
}

fn parse_line(line: &str) -> Result<Package> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [set, registry, name, version, platform, python, file, size, sha256, licence, contents] = columns[..]
    else {
        bail!("{} columns, expected {}", columns.len(), COLUMNS.len());
    };
    let registry = match registry {
        "pypi" => Registry::Pypi,
        "npm" => Registry::Npm,
        "crates" => Registry::Crates,
        "debian" => Registry::Debian,
        other => bail!("registry `{other}`, expected pypi, npm, crates or debian"),
    };
    let wheel = match (platform, python) {
        ("-", "-") => None,
        ("-", _) | (_, "-") => bail!("platform and python go together: give both or `-` twice"),
        _ => Some(Wheel { platform: platform.to_owned(), python: python.to_owned() }),
    };
    ensure!(wheel.is_some() == (registry == Registry::Pypi), "platform and python are only for wheels");
    ensure!(!file.contains(['/', '\\']), "`{file}` is a path, expected a file name");
    ensure!(
        sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
        "`{sha256}` is not 64 lower-case hexadecimal digits"
    );
    ensure!(!licence.is_empty() && !contents.is_empty(), "licence and contents are required");
    Ok(Package {
        set: match set {
            "metallib" => Set::Metallib,
            "dx" => Set::Dx,
            "cuda" => Set::Cuda,
            "c" => Set::C,
            "llvm-tests" => Set::LlvmTests,
            other => bail!("set `{other}`, expected metallib, dx, cuda, c or llvm-tests"),
        },
        registry,
        name: name.to_owned(),
        version: version.to_owned(),
        wheel,
        file: file.to_owned(),
        size: size.parse().with_context(|| format!("size `{size}`"))?,
        sha256: sha256.to_owned(),
        contents: contents.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Registry, parse};

    const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn list(lines: &[&str]) -> String {
        format!("# comment\n{}\n{}\n", COLUMNS.join("\t"), lines.join("\n"))
    }

    #[test]
    fn committed_list_is_well_formed() {
        let packages = parse(include_str!("../../corpus.tsv")).unwrap();
        assert!(packages.iter().any(|package| package.name == "mlx-metal"));
    }

    #[test]
    fn a_line_is_parsed() {
        let line = format!("metallib\tnpm\tx\t1.0\t-\t-\tx-1.0.tgz\t12\t{HASH}\tMIT\ttwo libraries");
        let packages = parse(&list(&[&line])).unwrap();
        assert_eq!(packages.len(), 1);
        assert_eq!(packages[0].registry, Registry::Npm);
        assert_eq!(packages[0].size, 12);
        assert_eq!(packages[0].wheel, None);
    }

    #[test]
    fn errors_name_their_line() {
        for (line, expected) in [
            ("metallib\tnpm\tx".to_owned(), "line 3: 3 columns, expected 11"),
            (format!("x\tnpm\tx\t1\t-\t-\tx.tgz\t1\t{HASH}\tMIT\tx"), "line 3: set `x`"),
            (
                format!("dx\tpypi\tx\t1\t-\t-\tx.whl\t1\t{HASH}\tMIT\tx"),
                "line 3: platform and python are only for wheels",
            ),
            (
                format!("dx\tnpm\tx\t1\tmac\t-\tx.tgz\t1\t{HASH}\tMIT\tx"),
                "line 3: platform and python go together",
            ),
            (format!("dx\tnpm\tx\t1\t-\t-\ta/x.tgz\t1\t{HASH}\tMIT\tx"), "line 3: `a/x.tgz` is a path"),
            ("dx\tnpm\tx\t1\t-\t-\tx.tgz\t1\tABC\tMIT\tx".to_owned(), "line 3: `ABC` is not 64"),
            (format!("dx\tnpm\tx\t1\t-\t-\tx.tgz\tmany\t{HASH}\tMIT\tx"), "line 3: size `many`"),
        ] {
            let error = format!("{:#}", parse(&list(&[&line])).unwrap_err());
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn duplicate_files_are_rejected() {
        let line = format!("dx\tnpm\tx\t1\t-\t-\tx.tgz\t1\t{HASH}\tMIT\tx");
        let error = format!("{:#}", parse(&list(&[&line, &line])).unwrap_err());
        assert_eq!(error, "line 4: x.tgz is there twice");
    }
}
