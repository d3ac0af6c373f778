//! Checks the tables: `cargo run -p isa-gen --example check -- operations.isa sm_35.isa …`

fn main() {
    let files: Vec<(String, String)> = std::env::args()
        .skip(1)
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a table can be read");
            (path.rsplit('/').next().unwrap_or(&path).to_owned(), text)
        })
        .collect();
    let named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let is_operations = |file: &&(&str, &str)| file.0.starts_with("operations");
    let (operations, generations): (Vec<(&str, &str)>, Vec<_>) = named.iter().partition(is_operations);
    match isa_gen::load(&operations, &generations) {
        Ok(isa) => println!("{} operations, {} generations", isa.operations.len(), isa.generations.len()),
        Err(errors) => {
            errors.iter().for_each(|error| println!("{error}"));
            std::process::exit(1);
        }
    }
}
