//! What `cargo xtask web` makes of the page's files: the service worker, manifest and icons of a static host, the page as
//! one file, and the files for the extension of VS Code.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use sha2::{Digest as _, Sha256};
use unshade_page::push_base64;

use crate::sh;

/// The files that the worker of a packed page gets, besides its script. `web/packed.js` has the same list.
const PARTS: &[&str] = &[
    "unshade_web_bg.wasm",
    "unshade_web_decompiler_bg.wasm",
    "unshade_web_editor_bg.wasm",
    "sm_30.bin",
    "sm_50.bin",
    "sm_70.bin",
];

/// What lines of `index.html` have that are only for the page on a static host.
const STATIC_ONLY: &str = " data-static";

/// The icon: rectangles on a grid of 16 cells, each with its colour. Lines of code, uncovered from the left.
const ICON: [([u32; 4], &str); 8] = [
    ([0, 0, 16, 16], "0a5aa8"),
    ([3, 3, 7, 2], "ffffff"),
    ([5, 6, 8, 2], "ffffff"),
    ([5, 9, 5, 2], "ffffff"),
    ([3, 12, 6, 2], "ffffff"),
    ([11, 3, 2, 2], "7db8ff"),
    ([11, 9, 2, 2], "7db8ff"),
    ([10, 12, 3, 2], "7db8ff"),
];

/// The sizes of the icons as pictures, in pixels.
const ICON_SIZES: [u32; 2] = [192, 512];

/// The extensions of files that an installed page opens.
const EXTENSIONS: &str = r#"".metallib", ".air", ".dxil", ".dxbc", ".cso", ".cubin", ".fatbin""#;

/// Adds to the folder of the page what a static host needs: icons, the manifest, and the service worker, which lists all files.
pub(crate) fn add_static(folder: &Path) -> Result<()> {
    fs::write(folder.join("icon.svg"), icon_svg())?;
    for size in ICON_SIZES {
        fs::write(folder.join(format!("icon-{size}.png")), icon_png(size)?)?;
    }
    fs::write(folder.join("manifest.webmanifest"), manifest())?;
    let service = folder.join("service.js");
    let script = fs::read_to_string(&service)?;
    fs::write(&service, with_files(&script, &hashes(folder)?)?).context("service.js")
}

/// Returns the names and hashes of all files of the page, sorted. The page itself has the name of the folder.
fn hashes(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut paths = Vec::new();
    sh::files_below(folder, &mut paths)?;
    let mut files = Vec::new();
    for path in paths {
        let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
        if name == "service.js" || name.ends_with(".zip") {
            continue;
        }
        let name = if name == "index.html" { "./".to_owned() } else { name };
        let mut hash = String::new();
        push_base64(&mut hash, &Sha256::digest(fs::read(&path)?));
        files.push((name, hash));
    }
    files.sort();
    Ok(files)
}

/// Returns the service worker's script with these files and the version that follows from them.
fn with_files(script: &str, files: &[(String, String)]) -> Result<String> {
    let list = serde_json::to_string(files)?;
    let version = &sh::sha256_hex(list.as_bytes())[..16];
    let mut filled = script.to_owned();
    for (from, to) in [
        ("const VERSION = '';", format!("const VERSION = '{version}';")),
        ("const FILES = [];", format!("const FILES = {list};")),
    ] {
        ensure!(filled.contains(from), "service.js has no `{from}`");
        filled = filled.replace(from, &to);
    }
    Ok(filled)
}

fn manifest() -> String {
    let pictures: String = ICON_SIZES
        .iter()
        .map(|size| format!(r#", {{"src": "icon-{size}.png", "sizes": "{size}x{size}", "type": "image/png", "purpose": "any maskable"}}"#))
        .collect();
    format!(
        r##"{{
  "name": "unshade Explorer",
  "short_name": "unshade",
  "description": "Shows what compiled GPU programs contain",
  "id": "./",
  "start_url": "./",
  "scope": "./",
  "display": "standalone",
  "background_color": "#15171a",
  "theme_color": "#0a5aa8",
  "icons": [{{"src": "icon.svg", "sizes": "any", "type": "image/svg+xml"}}{pictures}],
  "file_handlers": [{{"action": "./", "accept": {{"application/octet-stream": [{EXTENSIONS}]}}}}]
}}
"##
    )
}

fn icon_svg() -> String {
    let mut svg = String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\n");
    for ([x, y, width, height], colour) in ICON {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#{colour}\"/>"
        );
    }
    svg + "</svg>\n"
}

/// Draws the icon in the format PNG, with 8 bits per channel.
fn icon_png(size: u32) -> Result<Vec<u8>> {
    let mut rows = Vec::new();
    for y in 0..size {
        // No filter.
        rows.push(0);
        for x in 0..size {
            let (column, row) = (x * 16 / size, y * 16 / size);
            let covers = |[left, top, width, height]: [u32; 4]| {
                (left..left + width).contains(&column) && (top..top + height).contains(&row)
            };
            let (_, colour) =
                ICON.iter().rev().find(|(area, _)| covers(*area)).context("the icon has a gap")?;
            rows.extend_from_slice(&u32::from_str_radix(colour, 16)?.to_be_bytes()[1..]);
        }
    }
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&rows)?;
    let mut header = Vec::new();
    header.extend_from_slice(&size.to_be_bytes());
    header.extend_from_slice(&size.to_be_bytes());
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", header), (b"IDAT", packer.finish()?), (b"IEND", Vec::new())] {
        png.extend_from_slice(&u32::try_from(data.len())?.to_be_bytes());
        let mut sum = flate2::Crc::new();
        sum.update(kind);
        sum.update(&data);
        png.extend_from_slice(kind);
        png.extend_from_slice(&data);
        png.extend_from_slice(&sum.sum().to_be_bytes());
    }
    Ok(png)
}

/// Returns the page in a folder as one file, which runs from disk.
pub(crate) fn single_file(folder: &Path) -> Result<String> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let script = unshade_page::bundle("app.js", &read).map_err(|error| anyhow!(error))?;
    let style = read("app.css").context("app.css")?;
    for (what, part, end) in [("styles", &style, "</style"), ("script", &script, "</script")] {
        ensure!(
            !part.to_lowercase().contains(end) && !part.contains("<!--"),
            "the page's {what} can't be part of a page"
        );
    }
    let policy = format!(
        "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; style-src '{}'; connect-src https:; worker-src blob:; img-src data:; \
         base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let mut out = String::new();
    for line in read("index.html").context("index.html")?.lines().filter(|line| !line.contains(STATIC_ONLY)) {
        if line.starts_with("<meta http-equiv=\"Content-Security-Policy\"") {
            write!(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")?;
        } else if line.starts_with("<link rel=\"stylesheet\"") {
            write!(out, "<style>{style}</style>")?;
        } else if line.starts_with("<script type=\"module\"") {
            write!(out, "<script type=\"module\">{script}</script>")?;
        } else if line == "</body>" {
            push_part(&mut out, "worker.js", packed_worker(folder)?.as_bytes())?;
            for name in PARTS {
                push_part(&mut out, name, &fs::read(folder.join(name)).context(name)?)?;
            }
            let mut examples = Vec::new();
            sh::files_below(&folder.join("examples"), &mut examples)?;
            for path in examples {
                let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
                push_part(&mut out, &name, &fs::read(&path)?)?;
            }
            out.push_str(line);
        } else {
            out.push_str(&line.replace("data-transport=", "data-packed=\"inline\" data-transport="));
        }
        out.push('\n');
    }
    Ok(out)
}

/// Appends a file as a data block.
fn push_part(out: &mut String, name: &str, bytes: &[u8]) -> Result<()> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    write!(out, "<script type=\"application/gzip\" id=\"file:{name}\">")?;
    push_base64(out, &packer.finish()?);
    out.push_str("</script>\n");
    Ok(())
}

/// Returns the worker and its modules as one script that is not a module.
fn packed_worker(folder: &Path) -> Result<String> {
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Some(text.replace("import.meta.url", "location.href"))
    };
    unshade_page::bundle("worker.js", &read).map_err(|error| anyhow!(error))
}

/// Returns the hash of a text for a content security policy.
fn hash(text: &str) -> String {
    let mut hash = String::from("sha256-");
    push_base64(&mut hash, &Sha256::digest(text.as_bytes()));
    hash
}

/// Copies the page in a folder to that of the extension for VS Code.
pub(crate) fn copy_to_extension(folder: &Path, extension: &Path) -> Result<()> {
    let page = extension.join("page");
    if page.exists() {
        fs::remove_dir_all(&page)?;
    }
    fs::create_dir_all(&page)?;
    for file in unshade_page::FILES {
        if !["service.js", "from-disk.js", "worker.js"].contains(&file.name) {
            fs::write(page.join(file.name), file.bytes).with_context(|| file.name.to_owned())?;
        }
    }
    for name in PARTS {
        fs::copy(folder.join(name), page.join(name)).context(name)?;
    }
    fs::write(page.join("worker-packed.js"), packed_worker(folder)?)?;
    fs::write(extension.join("icon.png"), icon_png(ICON_SIZES[0])?)?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(sh::root().join(name), extension.join(name)).context(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{icon_png, manifest, with_files};

    #[test]
    fn the_manifest_is_json() {
        let manifest: serde_json::Value = serde_json::from_str(&manifest()).unwrap();
        assert_eq!(manifest["icons"].as_array().unwrap().len(), 3);
        assert_eq!(manifest["file_handlers"][0]["accept"]["application/octet-stream"][0], ".metallib");
    }

    #[test]
    fn the_icon_is_a_picture() {
        let png = icon_png(32).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20"));
        assert!(png.ends_with(b"IEND\xae\x42\x60\x82"));
    }

    #[test]
    fn the_version_follows_from_the_files() {
        let script = "const VERSION = '';\nconst FILES = [];\n";
        let files = |hash: &str| vec![("a.js".to_owned(), hash.to_owned())];
        let (one, two) = (with_files(script, &files("x")).unwrap(), with_files(script, &files("y")).unwrap());
        assert!(one.contains(r#"const FILES = [["a.js","x"]];"#), "{one}");
        assert_ne!(one.lines().next(), two.lines().next());
        assert!(with_files("", &files("x")).is_err());
    }
}
