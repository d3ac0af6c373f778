//! `cargo xtask corpus`: fetches the public packages of `xtask/corpus.tsv` into a cache folder and checks each against
//! its SHA-256. Then it carves those with GPU programs ([`carve`]).
//!
//! The packages contain real compiled GPU programs that are too large, or not ours, to commit. They are kept as
//! downloaded and unpacked in memory. A file gets its name in the cache only after its hash was checked, so that an
//! interrupted run leaves no partial files and the next run continues.

mod carve;
mod clients;
mod list;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

pub(crate) use self::carve::folder as carved_folder;
use self::list::Package;
pub(crate) use self::list::Set;
use crate::sh;

/// Returns the verified package with this name and `part` in its file name from the cache.
pub(crate) fn cached_package(name: &str, part: &str) -> Result<PathBuf> {
    let args = Args { cache: None, only: vec![name.to_owned()], set: Set::All, list: true };
    let package = selected(&args)?.into_iter().find(|package| package.file.contains(part));
    let package =
        package.with_context(|| format!("xtask/corpus.tsv has no {name} with {part} in its file name"))?;
    let path = cache_dir(None)?.join(&package.file);
    match check_file(&package, &path)? {
        Cached::Right => Ok(path),
        _ => bail!("{} is not in the cache: run `cargo xtask corpus --only {name}` first", package.file),
    }
}

/// Returns the verified packages of a set in the cache, by name. Prints a notice for missing ones.
pub(crate) fn cached_set(set: Set) -> Result<Vec<(String, PathBuf)>> {
    cached(&Args { cache: None, only: Vec::new(), set, list: true })
}

/// Returns the verified packages of these names in the cache. Prints a notice for missing ones.
pub(crate) fn cached_packages(names: &[&str]) -> Result<Vec<PathBuf>> {
    let only = names.iter().map(|name| (*name).to_owned()).collect();
    let found = cached(&Args { cache: None, only, set: Set::All, list: true })?;
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn cached(args: &Args) -> Result<Vec<(String, PathBuf)>> {
    let mut there = Vec::new();
    for package in selected(args)? {
        let path = cache_dir(None)?.join(&package.file);
        match check_file(&package, &path)? {
            Cached::Right => there.push((package.name, path)),
            Cached::Absent => println!(
                "skipped: {} is not in the cache; `cargo xtask corpus --only {0}` fetches it",
                package.name
            ),
            Cached::Wrong(why) => bail!("{}: {why}", package.file),
        }
    }
    Ok(there)
}

/// Returns the folder of a wheel's members, unpacking it if necessary.
pub(crate) fn unpack(wheel: &Path) -> Result<PathBuf> {
    let folder = sh::root().join("target/bench").join(wheel.file_stem().unwrap_or_default());
    if !folder.exists() {
        let partial = folder.with_extension("partial");
        fs::create_dir_all(&partial)?;
        println!("unpacking {}", wheel.display());
        let mut unzip = Command::new("python3");
        sh::capture(unzip.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&partial))
            .context("unpacking wheels needs Python 3")?;
        fs::rename(&partial, &folder)?;
    }
    Ok(folder)
}

/// Options of `cargo xtask corpus`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask corpus --list\n  cargo xtask corpus --set metallib\n  \
                        cargo xtask corpus --only mlx-metal --only torch\n\nExit status: 0 if every chosen \
                        package is there and right, 1 if not.")]
pub(crate) struct Args {
    /// Folder to keep the packages in [default: $UNSHADE_CORPUS_CACHE, or target/corpus].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Only packages with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only packages with programs of this kind.
    #[arg(long, value_enum, default_value_t = Set::All)]
    set: Set,
    /// Print the selected packages and whether they are in the cache; download nothing.
    #[arg(long)]
    list: bool,
}

/// The state of a package in the cache.
enum Cached {
    Right,
    Absent,
    Wrong(String),
}

/// Downloads missing packages and verifies all.
pub(crate) fn run(args: &Args) -> Result<()> {
    let packages = selected(args)?;
    let cache = cache_dir(args.cache.as_deref())?;
    let total: u64 = packages.iter().map(|package| package.size).sum();
    println!("packages: {}, {}, in {}", packages.len(), sh::megabytes(total), cache.display());

    let mut failures = Vec::new();
    for (index, package) in packages.iter().enumerate() {
        let label = format!("[{:2}/{}] {} {}", index + 1, packages.len(), package.name, package.version);
        let outcome = if args.list {
            state(package, &cache)
        } else {
            ensure_present(package, &cache).and_then(|state| match package.set.is_gpu() {
                true => Ok(format!("{state}, {}", carve::carve_package(&cache, &package.file)?)),
                false => Ok(format!("{state}, {}", package.contents)),
            })
        };
        match outcome {
            Ok(what) => println!("{label}: {} ({}), {what}", package.file, sh::megabytes(package.size)),
            Err(error) => {
                println!("{label}: FAILED: {error:#}");
                failures.push(format!("{} {}", package.name, package.version));
            }
        }
    }
    ensure!(
        failures.is_empty(),
        "{} of {} packages are missing or wrong: {}",
        failures.len(),
        packages.len(),
        failures.join(", ")
    );
    Ok(())
}

/// Returns the packages selected by `--set` and `--only`.
fn selected(args: &Args) -> Result<Vec<Package>> {
    let path = sh::root().join("xtask/corpus.tsv");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let all = list::parse(&text).with_context(|| format!("in {}", path.display()))?;
    for name in &args.only {
        ensure!(
            all.iter().any(|package| package.name == *name),
            "no package is named `{name}`: `cargo xtask corpus --list` prints the names"
        );
    }
    let chosen: Vec<Package> = all
        .into_iter()
        .filter(|package| match args.set {
            Set::All => package.set.is_gpu() || args.only.contains(&package.name),
            set => package.set == set,
        })
        .filter(|package| args.only.is_empty() || args.only.contains(&package.name))
        .collect();
    ensure!(!chosen.is_empty(), "no package matches both --set and --only");
    Ok(chosen)
}

/// Returns the absolute path of the cache folder, creating it if necessary.
pub(crate) fn cache_dir(option: Option<&Path>) -> Result<PathBuf> {
    let dir = option
        .map(Path::to_path_buf)
        .or_else(|| sh::env_path("UNSHADE_CORPUS_CACHE"))
        .unwrap_or_else(|| sh::root().join("target/corpus"));
    fs::create_dir_all(&dir).with_context(|| format!("cannot make the cache folder {}", dir.display()))?;
    dir.canonicalize().with_context(|| format!("cannot open the cache folder {}", dir.display()))
}

/// Describes the state of a package without downloading it.
fn state(package: &Package, cache: &Path) -> Result<String> {
    match check_file(package, &cache.join(&package.file))? {
        Cached::Right => Ok(format!("there and right: {}", package.contents)),
        Cached::Absent => Ok(format!("not downloaded: {}", package.contents)),
        Cached::Wrong(why) => bail!("{}: {why}", package.file),
    }
}

/// Ensures that a package is in the cache and correct. Describes how it got there.
fn ensure_present(package: &Package, cache: &Path) -> Result<String> {
    let path = cache.join(&package.file);
    match check_file(package, &path)? {
        Cached::Right => return Ok("verified, was there already".to_owned()),
        Cached::Wrong(why) => bail!("{} in the cache {why}; delete it to download it again", package.file),
        Cached::Absent => {}
    }
    let started = Instant::now();
    // In the cache folder, so that the rename below stays on one file system.
    let work = cache.join(format!(".partial-{}-{}", std::process::id(), package.file));
    fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let outcome = download_to(package, &work, &path);
    fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    outcome?;
    Ok(format!("downloaded and verified in {}", sh::seconds(started.elapsed())))
}

/// Downloads a package to the folder `work` and moves it to `path` if its hash is correct.
fn download_to(package: &Package, work: &Path, path: &Path) -> Result<()> {
    let file = clients::download(package, work)?;
    match check_file(package, &file)? {
        Cached::Right => fs::rename(&file, path).with_context(|| format!("cannot write {}", path.display())),
        Cached::Wrong(why) => bail!(
            "the downloaded {} {why}: the registry serves a different file from the one pinned in xtask/corpus.tsv",
            package.file
        ),
        Cached::Absent => bail!("the download succeeded, but {} does not exist", file.display()),
    }
}

/// Compares the file at `path` with the entry for `package` in the list.
fn check_file(package: &Package, path: &Path) -> Result<Cached> {
    let Ok(mut file) = File::open(path) else { return Ok(Cached::Absent) };
    let size = file.metadata()?.len();
    if size != package.size {
        return Ok(Cached::Wrong(format!("has {size} bytes, expected {}", package.size)));
    }
    let hash = sha256_of(&mut file).with_context(|| format!("cannot read {}", path.display()))?;
    if hash != package.sha256 {
        return Ok(Cached::Wrong(format!("has SHA-256 {hash}, expected {}", package.sha256)));
    }
    Ok(Cached::Right)
}

fn sha256_of(file: &mut File) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sh::hex(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}
