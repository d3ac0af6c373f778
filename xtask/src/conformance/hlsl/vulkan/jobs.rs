//! The loop of a program that does many jobs: `PROGRAM JOBS FIRST`.
//!
//! JOBS is a text file with one job a line: the input and the output, separated by a tab. FIRST is the number of the first
//! job to do. Before a job its number is printed, and after it `ok` or the reason why there is no output. So the caller
//! knows which job ends the process, and starts it again at the next one.

use std::io::Write as _;

/// Does the jobs. `convert` returns the output for the bytes of an input; its second argument is the name of the output.
pub fn run<E: std::fmt::Display>(convert: impl Fn(&[u8], &str) -> Result<Vec<u8>, E>) {
    let arguments: Vec<String> = std::env::args().collect();
    let jobs = std::fs::read_to_string(&arguments[1]).expect("the list of jobs");
    let first: usize = arguments[2].parse().expect("a number");
    for (number, job) in jobs.lines().enumerate().skip(first) {
        let (input, output) = job.split_once('\t').expect("two files");
        print!("{number} ");
        std::io::stdout().flush().expect("standard output");
        match convert(&std::fs::read(input).expect("the input"), output) {
            Ok(bytes) => {
                std::fs::write(output, bytes).expect("the output");
                println!("ok");
            }
            Err(error) => println!("{}", error.to_string().replace('\n', " ")),
        }
    }
    println!("end");
}
