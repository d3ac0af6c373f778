//! `cargo xtask web-test`: tests the page of `web/` in a real browser.
//!
//! TypeScript checks the types in the modules' comments; then Node runs `web/tests`, which control Chromium with the
//! page of `unshade explore`, or with the static page. The page itself needs none of these; they are downloaded from
//! npm by the first run of the tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Names of the Chromium executable, most likely first.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The test file with the measurements.
const FIGURES: &str = "figures.test.mjs";

/// The library for measurements, in the build folder, where `cargo xtask bench` unpacks it.
const BIG: &str = "bench/mlx_metal-0.32.4-py3-none-macosx_14_0_arm64/mlx/lib/mlx.metallib";

/// Options of `cargo xtask web-test`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask web-test\n  cargo xtask web-test --only keyboard\n  cargo xtask \
                  web-test --page target/web\n  cargo xtask web-test --screenshots\n\nNode 20 and Chromium have to \
                  be there (CHROMIUM names another one). UNSHADE_BIG names the library of mlx-metal 0.32.4, without \
                  which nothing is measured."
)]
pub(crate) struct Args {
    /// Test the static page in this folder instead of the local server.
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
    /// Only run tests whose names match this regular expression.
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Only check the types, without a browser.
    #[arg(long)]
    types: bool,
    /// Skip the measurements.
    #[arg(long)]
    no_figures: bool,
    /// Take the screenshots of docs/images instead.
    #[arg(long)]
    screenshots: bool,
    /// Build and test the program in this profile.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// Checks the types, builds unshade and runs the tests.
pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = sh::root().join("web/tests");
    let node = sh::find("node")
        .context("the tests of the page need Node: install it (Debian: apt install nodejs npm)")?;
    fetch_packages(&folder)?;
    check_types(&folder)?;
    if args.types {
        return Ok(());
    }
    let browser = env::var_os("CHROMIUM")
        .map(PathBuf::from)
        .or_else(|| BROWSERS.into_iter().find_map(sh::find))
        .context("the tests of the page need Chromium: install it (Debian: apt install chromium)")?;
    let program = build(&args.profile)?;

    let mut command = Command::new(node);
    command.current_dir(&folder).env("CHROMIUM", browser).env("UNSHADE", &program);
    if env::var_os("UNSHADE_BIG").is_none() {
        command.env("UNSHADE_BIG", sh::target().join(BIG));
    }
    if let Some(page) = &args.page {
        let page = page.canonicalize().with_context(|| page.display().to_string())?;
        command.env("UNSHADE_PAGE", page);
    }
    if args.screenshots {
        command.arg("screenshots.mjs").arg(sh::root().join("docs/images"));
        return finish(&mut command);
    }
    // Run tests one after the other, so that measurements are not disturbed.
    command.args(["--test", "--test-concurrency=1", "--test-timeout=900000", "--test-reporter=spec"]);
    if let Some(pattern) = &args.only {
        command.arg(format!("--test-name-pattern={pattern}"));
    }
    command.args(test_files(&folder, !args.no_figures)?);
    finish(&mut command)
}

/// Returns the names of the test files: the measurements are last, or left out.
fn test_files(folder: &Path, measures: bool) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".test.mjs") && (measures || name != FIGURES)).collect();
    names.sort_by_key(|name| (name == FIGURES, name.clone()));
    Ok(names)
}

/// Downloads the packages that the tests need, once.
fn fetch_packages(folder: &Path) -> Result<()> {
    if ["playwright-core", "axe-core", "typescript"]
        .iter()
        .all(|name| folder.join("node_modules").join(name).exists())
    {
        return Ok(());
    }
    let npm = sh::find("npm")
        .context("npm is missing, which downloads the packages for the tests (Debian: apt install npm)")?;
    eprintln!("web-test: downloading playwright-core, axe-core and typescript from npm");
    finish(Command::new(npm).current_dir(folder).args(["install", "--no-audit", "--no-fund"]))
}

fn check_types(folder: &Path) -> Result<()> {
    finish(Command::new(folder.join("node_modules/.bin/tsc")).current_dir(folder).args(["--project", "."]))
}

/// Builds `unshade` and returns its path. No package is named, so that cargo unites the features of the whole workspace as
/// it does for `cargo test`, and builds nothing twice.
fn build(profile: &str) -> Result<PathBuf> {
    finish(sh::cargo().args(["build", "--bin", "unshade", "--profile", profile]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(sh::target().join(folder).join(format!("unshade{}", env::consts::EXE_SUFFIX)))
}

/// Runs a command to its end.
fn finish(command: &mut Command) -> Result<()> {
    let shown = sh::shown(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed");
    }
    Ok(())
}
