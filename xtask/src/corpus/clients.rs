//! Downloads packages by name with the registries' ordinary clients: pip, npm, cargo and apt-get. They are configured
//! for the mirrors, proxies and certificates of the machine, unlike addresses in this file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::list::{Package, Registry, Wheel};
use crate::sh;

/// Downloads a package to the empty folder `work`. Returns the path of its file, whose hash is not checked yet.
pub(crate) fn download(package: &Package, work: &Path) -> Result<PathBuf> {
    match (package.registry, &package.wheel) {
        (Registry::Pypi, Some(wheel)) => pip(package, wheel, work)?,
        (Registry::Pypi, None) => bail!("a wheel needs a platform and a Python version"),
        (Registry::Npm, _) => npm(package, work)?,
        (Registry::Crates, _) => cargo(package, work)?,
        (Registry::Debian, _) => apt(package, work)?,
    }
    let path = work.join(&package.file);
    if !path.exists() {
        bail!("expected {}, but the client wrote {}", package.file, names_in(work)?.join(", "));
    }
    Ok(path)
}

fn pip(package: &Package, wheel: &Wheel, work: &Path) -> Result<()> {
    let mut command = find_pip()?;
    command
        .args(["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"])
        .args(["--platform", &wheel.platform, "--python-version", &wheel.python, "--dest"])
        .arg(work)
        .arg(format!("{}=={}", package.name, package.version));
    sh::capture(&mut command)?;
    Ok(())
}

/// Finds pip, which has several names.
fn find_pip() -> Result<Command> {
    for words in [&["pip"][..], &["pip3"], &["python3", "-m", "pip"], &["python", "-m", "pip"]] {
        let command = || {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            command
        };
        if command().arg("--version").output().is_ok_and(|output| output.status.success()) {
            return Ok(command());
        }
    }
    bail!("pip is not on PATH: install Python 3 to download wheels")
}

fn npm(package: &Package, work: &Path) -> Result<()> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if Command::new(program).arg("--version").output().is_err() {
        bail!("npm is not on PATH: install Node.js to download npm packages");
    }
    let mut command = Command::new(program);
    command
        .args(["pack", "--silent", "--ignore-scripts"])
        .arg(format!("{}@{}", package.name, package.version))
        .current_dir(work);
    sh::capture(&mut command)?;
    Ok(())
}

/// Creates a temporary project with the crate as its only dependency, so that cargo fetches the `.crate` into its
/// cache, from where it is copied.
fn cargo(package: &Package, work: &Path) -> Result<()> {
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n\
         [workspace]\n\n[dependencies]\n{} = \"={}\"\n",
        package.name, package.version
    );
    fs::write(work.join("Cargo.toml"), manifest)?;
    fs::write(work.join("lib.rs"), "")?;
    sh::capture(sh::cargo().args(["fetch", "--quiet"]).current_dir(work))?;

    let caches = cargo_home()?.join("registry").join("cache");
    let found = fs::read_dir(&caches)
        .with_context(|| format!("cannot read {}", caches.display()))?
        .filter_map(|entry| Some(entry.ok()?.path().join(&package.file)))
        .find(|path| path.exists())
        .with_context(|| {
            format!("cargo fetched it, but {} is not under {}", package.file, caches.display())
        })?;
    fs::copy(&found, work.join(&package.file)).with_context(|| format!("cannot copy {}", found.display()))?;
    Ok(())
}

/// Debian versions source packages by the version of its patches, which does not affect the archive of the original, so
/// the newest version is taken, and the hash decides whether it is the right one.
fn apt(package: &Package, work: &Path) -> Result<()> {
    if Command::new("apt-get").arg("--version").output().is_err() {
        bail!("apt-get is not on PATH: source packages can only be downloaded on Debian");
    }
    let mut command = Command::new("apt-get");
    command.args(["source", "--quiet", "--quiet", "--download-only", "--only-source"]);
    sh::capture(command.arg(&package.name).current_dir(work))
        .context("are source packages enabled (`Types: deb deb-src`), and did `apt-get update` run?")?;
    Ok(())
}

fn cargo_home() -> Result<PathBuf> {
    sh::env_path("CARGO_HOME")
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context("no home folder: set CARGO_HOME to cargo's folder")
}

fn names_in(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    if names.is_empty() {
        names.push("nothing".to_owned());
    }
    Ok(names)
}
