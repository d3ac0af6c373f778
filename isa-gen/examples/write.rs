fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<(String, String)> = args[1..].iter().map(|p| (p.rsplit('/').next().unwrap().to_owned(), std::fs::read_to_string(p).unwrap())).collect();
    let named: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let isa = match isa_gen::load(named[0], &named[1..]) { Ok(i) => i, Err(e) => { for e in e { println!("{e}"); } std::process::exit(1) } };
    std::fs::write(format!("{}/operations.rs", args[0]), isa_gen::rust_tables::operations(&isa)).unwrap();
    for g in &isa.generations { std::fs::write(format!("{}/{}.rs", args[0], g.name), isa_gen::rust_tables::generation(&isa, g)).unwrap(); }
}
